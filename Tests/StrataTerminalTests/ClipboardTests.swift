import Testing

@testable import StrataTerminal

@Suite("Clipboard")
struct ClipboardTests {
  @Test("text is base 64 between OSC 52 and BEL, wrapped for tmux and screen")
  func sequences() {
    let text = { (bytes: [UInt8]?) in bytes.map { String(decoding: $0, as: UTF8.self) } }
    #expect(
      text(Clipboard.sequence("Zürich", by: .terminal)) == "\u{1B}]52;c;WsO8cmljaA==\u{7}")
    #expect(
      text(Clipboard.sequence("a", by: .tmux))
        == "\u{1B}]52;c;YQ==\u{7}\u{1B}Ptmux;\u{1B}\u{1B}]52;c;YQ==\u{7}\u{1B}\\")
    let long = text(Clipboard.sequence(String(repeating: "a", count: 300), by: .screen)) ?? ""
    let pieces = long.split(separator: "\u{1B}\\")
    #expect(pieces.count == 2)
    #expect(pieces.allSatisfy { $0.hasPrefix("\u{1B}P") && $0.utf8.count <= 252 })
  }

  @Test("a text beyond the limit is refused, not cut")
  func limit() {
    let text = String(repeating: "a", count: Clipboard.limit)
    #expect(Clipboard.sequence(text, by: .terminal) != nil)
    #expect(Clipboard.sequence(text + "a", by: .terminal) == nil)
  }
}
