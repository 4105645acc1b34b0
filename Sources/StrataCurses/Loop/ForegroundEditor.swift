import CStrataCurses
import StrataSystem
import StrataTerminal

/// The user's editor, in the foreground of this terminal.
enum ForegroundEditor {
  /// Runs `$VISUAL`, `$EDITOR` or the first common editor on a file and waits for its end.
  static func edit(_ path: String, line: Int?, column: Int?) -> EditorEnd {
    run(command(for: path, editor: preferred, line: line, column: column))
  }

  /// The same without a terminal: runs only an editor that the user chose, which then must not need one.
  static func editWithoutTerminal(_ path: String) -> EditorEnd {
    guard let chosen else { return .failed("without a terminal there is no editor but $VISUAL or $EDITOR") }
    return run(command(for: path, editor: chosen, line: nil, column: nil))
  }

  private static var chosen: String? {
    ["VISUAL", "EDITOR"].lazy.compactMap { Environment[$0] }.first { !$0.isEmpty }
  }

  private static var preferred: String {
    if let chosen { return chosen }
    return ["/usr/bin/editor", "/usr/bin/sensible-editor", "/usr/bin/nano", "/usr/bin/vi"].first {
      access($0, X_OK) == 0
    } ?? "vi"
  }

  /// The words to start. The editor's variable is a shell command, as git and others take it, and so may have options.
  static func command(for path: String, editor: String, line: Int?, column: Int?) -> [String] {
    guard let line else { return shell(editor, [path]) }
    let program = editor.split(separator: " ").first?.split(separator: "/").last ?? ""
    let column = column ?? 1
    switch program {
    case "vi", "editor", "kak", "ne", "joe", "mg", "jed", "ed": return shell(editor, ["+\(line)", path])
    case "vim", "nvim": return shell(editor, ["+call cursor(\(line),\(column))", path])
    case "nano", "pico", "micro": return shell(editor, ["+\(line),\(column)", path])
    case "emacs", "emacsclient": return shell(editor, ["+\(line):\(column)", path])
    case "hx", "helix": return shell(editor, ["\(path):\(line):\(column)"])
    case "code", "codium": return shell(editor, ["--wait", "--goto", "\(path):\(line):\(column)"])
    default: return shell(editor, [path])
    }
  }

  private static func shell(_ editor: String, _ arguments: [String]) -> [String] {
    ["sh", "-c", editor + " \"$@\"", editor] + arguments
  }

  private static func run(_ words: [String]) -> EditorEnd {
    var arguments: [UnsafeMutablePointer<CChar>?] = words.map { strdup($0) }
    defer { for argument in arguments { free(argument) } }
    arguments.append(nil)
    var status: Int32 = 0
    let problem = strata_run_in_foreground(&arguments, &status)
    guard problem == 0 else { return .failed(String(cString: strerror(problem))) }
    let end = Int(strata_exit_status(status))
    return end >= 0 ? .exited(status: end) : .killed(signal: -1 - end)
  }
}
