import StrataEngine
import Testing

@testable import StrataModel

@Suite("Names of commits")
struct PinTests {
  @Test(
    "a name with a control character is refused", arguments: ["a\u{7}b", "\u{1B}[31m", "a\u{0}", "\u{85}x", "\u{7F}"])
  func controls(name: String) throws {
    let store = try Cities.store(1)
    let reason = ModelError.invalid(text: name, column: nil, reason: "a pin's name has no control characters")
    let spaces = ModelError.invalid(text: name, column: nil, reason: "a pin's name has no spaces, “~” or “#”")
    #expect { try store.pin(name, to: store.head.commit) } throws: { error in
      error as? ModelError == reason || error as? ModelError == spaces
    }
    #expect(try store.pins.isEmpty)
  }

  @Test("a name that another program gave is taken away, whatever is in it")
  func removal() throws {
    let store = try Cities.store(1)
    _ = try store.transact(CommitInfo(names: ["a\u{7}b": store.head.commit.rawValue])) { _ in }
    #expect(try store.pins.map(\.name) == ["a\u{7}b"])
    try store.pin("a\u{7}b", to: nil)
    #expect(try store.pins.isEmpty)
  }

  @Test("what is before the first commit takes no name")
  func beginning() throws {
    let store = try Cities.store(1)
    let head = store.head.commit
    #expect(
      throws: ModelError.noSuchCommit("#0", reason: "it stands for the empty store before the first commit")
    ) { try store.pin("origin", to: CommitNumber(0)) }
    #expect(try store.pins.isEmpty)
    #expect(store.head.commit == head)
  }

  @Test("names that are equal as texts are one name, however their accents are written")
  func forms() throws {
    let store = try Cities.store(1)
    let first = store.head.commit
    try store.pin("cafe\u{301}", to: first)
    try store.pin("caf\u{E9}", to: store.head.commit)
    #expect(try store.pins.count == 1)
    #expect(try store.resolve("cafe\u{301}") == CommitNumber(first.rawValue + 1))
    try store.pin("cafe\u{301}", to: nil)
    #expect(try store.pins.isEmpty)
    // One that another program spelt so is moved and taken away as it is spelt.
    _ = try store.transact(CommitInfo(names: ["cafe\u{301}": first.rawValue])) { _ in }
    try store.pin("caf\u{E9}", to: store.head.commit)
    #expect(try store.pins.count == 1)
    try store.pin("caf\u{E9}", to: nil)
    #expect(try store.pins.isEmpty)
  }
}
