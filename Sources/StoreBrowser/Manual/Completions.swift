/// The shells' completions, made from the table of verbs.
package enum Completions {
  /// The shells there are completions for.
  package static let shells = ["bash", "zsh", "fish"]

  /// The script for a shell, or nil for one that is not known.
  package static func script(for shell: String) -> String? {
    switch shell {
    case "bash": bash
    case "zsh": zsh
    case "fish": fish
    default: nil
    }
  }

  private static var bash: String {
    let cases = Verb.all.map { verb in
      "    \(verb.name)) options=\"\(verb.options.map(\.name).joined(separator: " "))\" ;;"
    }
    return """
      # Completions of strata for bash.
      _strata() {
        local word="${COMP_WORDS[COMP_CWORD]}" verb="${COMP_WORDS[1]}" options="" IFS=$' \\t\\n'
        if [ "$COMP_CWORD" -eq 1 ]; then
          COMPREPLY=($(compgen -W "\(Verb.all.map(\.name).joined(separator: " "))" -- "$word"))
          IFS=$'\\n'
          COMPREPLY+=($(compgen -f -- "$word"))
          return
        fi
        case "$verb" in
      \(cases.joined(separator: "\n"))
          *) options="\(Verb.browse.options.map(\.name).joined(separator: " "))" ;;
        esac
        case "$word" in
          -*) COMPREPLY=($(compgen -W "$options" -- "$word")) ;;
          *) IFS=$'\\n'; COMPREPLY=($(compgen -f -- "$word")) ;;
        esac
      }
      complete -o filenames -F _strata strata

      """
  }

  private static var zsh: String {
    let verbs = Verb.all.map { "    '\($0.name):\(quoted($0.summary))'" }
    let cases = Verb.all.map { verb in
      "    \(verb.name)) _arguments \((verb.options.map(zshOption) + ["'*:file:_files'"]).joined(separator: " ")) ;;"
    }
    return """
      #compdef strata
      # Completions of strata for zsh.
      _strata() {
        local -a verbs
        verbs=(
      \(verbs.joined(separator: "\n"))
        )
        if (( CURRENT == 2 )); then
          _describe 'verb' verbs
          _files
          return
        fi
        local verb="$words[2]"
        shift words
        (( CURRENT-- ))
        case "$verb" in
      \(cases.joined(separator: "\n"))
          *) _arguments \((Verb.browse.options.map(zshOption) + ["'*:file:_files'"]).joined(separator: " ")) ;;
        esac
      }
      _strata "$@"

      """
  }

  private static func zshOption(_ option: Verb.Option) -> String {
    let repeats = option.repeats ? "*" : ""
    let choices = option.choices.isEmpty ? "" : "(\(option.choices.joined(separator: " ")))"
    let value = option.value.map { ":\($0.lowercased().filter { $0.isLetter || $0.isNumber }):\(choices)" } ?? ""
    return "'\(repeats)\(option.name)[\(quoted(option.summary))]\(value)'"
  }

  private static var fish: String {
    var lines = ["# Completions of strata for fish."]
    for verb in Verb.all {
      lines.append("complete -c strata -n __fish_use_subcommand -a \(verb.name) -d '\(quoted(verb.summary))'")
      for option in verb.options { lines.append(fishOption(option, when: "__fish_seen_subcommand_from \(verb.name)")) }
    }
    for option in Verb.browse.options { lines.append(fishOption(option, when: "__fish_use_subcommand")) }
    return lines.joined(separator: "\n") + "\n"
  }

  private static func fishOption(_ option: Verb.Option, when condition: String) -> String {
    let value =
      option.value == nil ? "" : option.choices.isEmpty ? " -r" : " -x -a '\(option.choices.joined(separator: " "))'"
    return "complete -c strata -n '\(condition)' -l \(option.name.dropFirst(2))\(value) -d '\(quoted(option.summary))'"
  }

  /// Text that may stand between single quotes, and between brackets in zsh.
  private static func quoted(_ text: String) -> String {
    text.replacing("'", with: "’").replacing("[", with: "(").replacing("]", with: ")").replacing(":", with: ",")
  }
}
