# Reads cases, one line of JSON each, and answers each with a line: 1 for a path that protego allows, 0 for one
# that it denies. The first argument is the folder that it is in.
import json
import sys

sys.path.insert(0, sys.argv[1])
from protego import Protego

for line in sys.stdin:
    case = json.loads(line)
    robots = Protego.parse(bytes.fromhex(case["file"]).decode("utf-8", "replace"))
    allowed = (robots.can_fetch("http://a.test" + path, case["agent"]) for path in case["paths"])
    print("".join("01"[is_allowed] for is_allowed in allowed))
