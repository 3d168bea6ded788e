//! Completions, in the shells that they are for.

use std::process::{Command, Output, Stdio};

use crate::stoop::{run, skip, stoop};

/// A shell that is given the script in a file `stoop.SHELL` of a folder of its own, or none where it is missing.
fn shell(name: &str, arguments: &[&str], commands: &str) -> Option<Output> {
    let folder = std::env::temp_dir().join(format!("stoop-{name}-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let script = run(stoop(&format!("completions {name}")), "");
    assert_eq!((script.code, &*script.stderr), (Some(0), ""));
    // zsh looks for it by this name.
    let file = if name == "zsh" { "_stoop".to_owned() } else { format!("stoop.{name}") };
    std::fs::write(folder.join(file), &script.stdout).unwrap();
    // One that waits for ever is ended.
    let mut command = Command::new("timeout");
    command.args(["60", name]).args(arguments).args(["-c", commands]).current_dir(&folder);
    // Fish writes there.
    for variable in ["HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "ZDOTDIR"] {
        command.env(variable, &folder);
    }
    let ran = command.env("TERM", "dumb").stdin(Stdio::null()).output();
    let _ = std::fs::remove_dir_all(&folder);
    match ran {
        // There is no such program.
        Ok(output) if output.status.code() == Some(127) => {
            skip(&format!("completions::{name}"), &format!("needs {name}"));
            None
        }
        Ok(output) => Some(output),
        Err(_) => {
            skip(&format!("completions::{name}"), "needs timeout");
            None
        }
    }
}

/// Each line of the output, which is all that the shell says.
fn lines(output: &Output) -> Vec<String> {
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && said.is_empty(), "{said}");
    String::from_utf8_lossy(&output.stdout).lines().map(|line| line.trim().to_owned()).collect()
}

#[test]
fn bash_completes_subcommands_options_and_their_values() {
    // The function is called as bash does it: with the command, the word, and the one before.
    const COMMANDS: &str = r#"
        source stoop.bash
        name=$(complete -p stoop | sed 's/.*-F \([^ ]*\).*/\1/')
        words() {
            COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); COMP_LINE="$*"; COMP_POINT=${#COMP_LINE}
            COMPREPLY=()
            "$name" "$1" "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD - 1]}"
            echo "${COMPREPLY[*]}"
        }
        words stoop ser
        words stoop serve --li
        words stoop serve public --access-log ''
        words stoop serve -l 8080 --access-log js
        words stoop fetch --per-h
    "#;
    let Some(output) = shell("bash", &["--norc", "--noprofile"], COMMANDS) else { return };
    let expected =
        ["serve", "--listen --listing", "common combined json none", "json", "--per-host"];
    assert_eq!(lines(&output), expected);
}

#[test]
fn fish_completes_subcommands_options_and_their_values() {
    const COMMANDS: &str = r#"
        source stoop.fish
        for line in 'stoop ser' 'stoop serve --li' 'stoop serve --access-log ' 'stoop get --progress-b'
            complete -C $line | string replace -r '\t.*' '' | string join ' '
        end
        complete -C 'stoop get -' | string match -r '^-#'
    "#;
    let Some(output) = shell("fish", &["--no-config"], COMMANDS) else { return };
    let expected =
        ["serve", "--listen --listing", "combined common json none", "--progress-bar", "-#"];
    assert_eq!(lines(&output), expected);
}

/// On a terminal of its own, by zsh's zpty: what is typed is completed by TAB, and the command shows what it is given.
#[test]
fn zsh_completes_subcommands_options_and_their_values() {
    const COMMANDS: &str = r#"
        zmodload zsh/zpty || exit 1
        zpty typed zsh -f -i
        zpty -w typed "PROMPT=; fpath=($PWD \$fpath); autoload -Uz compinit; compinit -u -D"
        zpty -w typed "stoop() { print -r -- \"<\$*>\" }; print rea''dy"
        zpty -r -m typed shown '*ready*'
        zpty -w typed $'stoop ser\t--unix-m\t600 --access-log js\t'
        zpty -r -m typed shown '*<*>*'
        print -r -- ${(M)${(f)shown}:#*\<*\>*}
    "#;
    let Some(output) = shell("zsh", &["-f"], COMMANDS) else { return };
    let said = lines(&output).join("\n");
    assert!(said.contains("<serve --unix-mode=600 --access-log json>"), "{said}");
}
