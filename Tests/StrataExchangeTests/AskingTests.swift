import StrataModel
import StrataEngine
import Testing

@testable import StrataExchange

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

@Suite("Programs that lead to another machine")
struct AskingTests {
  @Test("a path in the other side's home is left to the shell there, and all else is quoted")
  func home() throws {
    func words(_ path: String, mayAsk: Bool = true, program: String? = nil) -> [String] {
      PipePeer.words(user: "ada", host: "desk", port: 22, path: path, program: program, mayAsk: mayAsk)
    }
    #expect(
      words("/home/ada/x y")
        == ["ssh", "-o", "ServerAliveInterval=15", "-p", "22", "--", "ada@desk", "strata serve '/home/ada/x y'"])
    #expect(words("~/x y").last == "strata serve ~/'x y'")
    #expect(words("/~/it's").last == #"strata serve ~/'it'\''s'"#)
    #expect(words("~other/x").last == "strata serve '~other/x'")
    #expect(try RemoteLocation(parsing: "desk:~/x") == .ssh(user: nil, host: "desk", port: nil, path: "~/x"))
    #expect(try RemoteLocation(parsing: "ssh://desk/~/x") == .ssh(user: nil, host: "desk", port: nil, path: "/~/x"))
    #expect(words("~/x", mayAsk: false).prefix(3) == ["ssh", "-o", "BatchMode=yes"])
    #expect(words("~/x", mayAsk: false, program: "mine").prefix(2) == ["mine", "-p"])
  }

  @Test("an IPv6 address has brackets in a URL, and none for ssh")
  func address() throws {
    let location = try RemoteLocation(parsing: "ssh://ada@[2001:db8::1]:2222/x")
    #expect(location == .ssh(user: "ada", host: "[2001:db8::1]", port: 2_222, path: "/x"))
    #expect(location.text == "ssh://ada@[2001:db8::1]:2222/x")
    let words = PipePeer.words(user: "ada", host: "[2001:db8::1]", port: 2_222, path: "/x", program: "mine")
    #expect(words == ["mine", "-p", "2222", "--", "ada@2001:db8::1", "strata serve '/x'"])
    #expect(try RemoteLocation(parsing: "ssh://[::1]/x") == .ssh(user: nil, host: "[::1]", port: nil, path: "/x"))
  }

  @Test("a password in a location behind ssh is refused, and quoted nowhere")
  func password() throws {
    for location in ["ssh://ada:secret@desk/x", "ssh://ada:secret@desk:port/x", "ssh://ada:secret@/x"] {
      let error = #expect(throws: ExchangeError.self) { try RemoteLocation(parsing: location) }
      #expect(try !"\(#require(error))".contains("secret"))
    }
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

  @Test("the errors of a line that ssh cannot open, and of a machine without the program, have the words to type")
  func wordsToType() throws {
    for (status, told) in [(255, "“ssh -p 22 ada@desk”"), (127, "scp -P 22 \"$(command -v strata)\" ada@desk:/usr")] {
      let script = "/tmp/strata-ssh-\(UInt64.random(in: 0 ... .max))"
      try DurableFile.replace(script, with: Array("#!/bin/sh\nexit \(status)\n".utf8))
      defer { unlink(script) }
      chmod(script, 0o755)
      let words = PipePeer.words(user: "ada", host: "desk", port: 22, path: "/x", program: script)
      let peer = try PipePeer(words, name: "desk")
      do {
        _ = try peer.heads()
        Issue.record("it answered")
      } catch { #expect("\(error)".contains(told), "\(error)") }
    }
  }

  @Test("a commit that turns out to be lacking is asked for over the same pipe, behind the rest of the answer")
  func lacking() throws {
    let theirs = try ExchangedStore("theirs")
    for name in ["a", "b", "c"] { try theirs.put(#"{"id":1,"name":"\#(name)"}"#) }
    let graph = try theirs.graph
    let (before, last) = (try #require(graph.numbers.dropLast().last), try #require(graph.numbers.last))
    let lacking = try #require(graph.identity(of: before))
    var whole: [UInt8] = []
    try CommitSender(theirs.own, graph) { whole += $0 }.send([last], since: [], whole: [lacking])
    // As where the other side takes for known what is not here; the second time it is asked for.
    let answers = [
      Array("{\"serve\":1,\"head\":\"\(theirs.head.text)\"}\n".utf8),
      Array(try theirs.stream(since: [lacking]).joined(separator: [10])) + Array("\n{\"done\":true}\n".utf8),
      whole + Array("{\"done\":true}\n".utf8),
    ]
    let folder = "/tmp/strata-lacking-\(UInt64.random(in: 0 ... .max))"
    mkdir(folder, 0o755)
    defer { try? removeFolder(folder) }
    for (place, answer) in answers.enumerated() { try DurableFile.replace("\(folder)/\(place)", with: answer) }
    let script =
      "cd '\(folder)'; cat 0; read line; cat 1; read line; case $line in *'\(lacking.text)'*) cat 2; read line; esac"
    let ours = try ExchangedStore("ours", isEmpty: true)
    let fetched = try ours.exchange.fetch(PipePeer(["/bin/sh", "-c", script], name: "desk"), as: "desk")
    #expect(fetched.heads == [theirs.head] && fetched.received == 2)
    #expect(try ours.graph.knows(lacking))
  }

  @Test("a peer that refuses the proposed head says which head it has by then, so another round fetches that")
  func movedMeanwhile() throws {
    let ours = try ExchangedStore("ours")
    let before = ours.head
    try ours.put(#"{"id":1,"name":"a"}"#)
    func greeting(_ head: CommitIdentity, _ rest: String = "") -> String {
      "echo '{\"serve\":1,\"head\":\"\(head.text)\"\(rest)}'"
    }
    let script =
      "\(greeting(before)); read line; read line; echo '{\"received\":0}'; read line; "
      + greeting(ours.head, ",\"moved\":false")
    let peer = try PipePeer(["/bin/sh", "-c", script], name: "desk")
    #expect(try peer.heads() == [before])
    let commits = OutgoingCommits(head: before, store: ours.own, graph: try ours.graph, numbers: []) { _ in }
    #expect(try !peer.push(commits))
    #expect(try peer.heads() == [ours.head])
  }
}
