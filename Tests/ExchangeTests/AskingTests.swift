import Testing

@testable import Exchange

@Suite("Programs that lead to another machine")
struct AskingTests {
  @Test("a path in the other side's home is left to the shell there, and all else is quoted")
  func home() throws {
    func words(_ path: String, mayAsk: Bool = true, program: String? = nil) -> [String] {
      PipePeer.words(user: "ada", host: "desk", port: 22, path: path, program: program, mayAsk: mayAsk)
    }
    #expect(words("/home/ada/x y") == ["ssh", "-p", "22", "--", "ada@desk", "strata serve '/home/ada/x y'"])
    #expect(words("~/x y").last == "strata serve ~/'x y'")
    #expect(words("/~/it's").last == #"strata serve ~/'it'\''s'"#)
    #expect(words("~other/x").last == "strata serve '~other/x'")
    #expect(try RemoteLocation(parsing: "desk:~/x") == .ssh(user: nil, host: "desk", port: nil, path: "~/x"))
    #expect(try RemoteLocation(parsing: "ssh://desk/~/x") == .ssh(user: nil, host: "desk", port: nil, path: "/~/x"))
    #expect(words("~/x", mayAsk: false).prefix(3) == ["ssh", "-o", "BatchMode=yes"])
    #expect(words("~/x", mayAsk: false, program: "mine").prefix(2) == ["mine", "-p"])
  }

  @Test("a program that may not ask has no terminal, and what it could not ask is told")
  func batch() throws {
    let asks = "(: < /dev/tty) 2>/dev/null && exit 7; echo 'Permission denied (password).' >&2; exit 255"
    let peer = try PipePeer(["/bin/sh", "-c", asks], name: "desk", mayAsk: false)
    do {
      _ = try peer.heads()
      Issue.record("it answered")
    } catch {
      #expect("\(error)".contains("Permission denied (password)") && "\(error)".contains("BatchMode"), "\(error)")
    }
  }
}
