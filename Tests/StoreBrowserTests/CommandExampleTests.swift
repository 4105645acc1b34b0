import StrataTerminal
import Testing

@testable import StoreBrowser

@Suite("Every command by example")
struct CommandExampleTests {
  /// Where the example of `:export` writes.
  static let exported = "/tmp/strata-command-example-\(UInt64.random(in: 0 ... .max)).jsonl"

  @Test(
    "every command does what its example says, by its name and by its keys",
    arguments: CommandTable.all.map(\.command))
  func examples(command: Command) throws {
    guard let example = CommandExamples.example(of: command) else {
      Issue.record("\(command.rawValue) has no example")
      return
    }
    defer { TestFile.remove(Self.exported) }
    try check(example, isMet: false, "without the command") { _ in }
    try check(example, isMet: true, ":\(command.rawValue)") { driver in
      try driver.play(":\(command.rawValue) \(example.argument ?? "")")
    }
    for keys in CommandTable.entry(command).keys {
      try check(example, isMet: true, keys) { driver in
        driver.press(keys)
        guard let argument = example.argument else { return }
        guard driver.browser.overlays.last is Prompt else {
          driver.type(argument)
          return
        }
        driver.press("^u")
        driver.type(argument)
        driver.press("Enter")
      }
    }
  }

  private func check(
    _ example: CommandExample, isMet: Bool, _ how: String, doing command: (Driver) throws -> Void
  ) throws {
    TestFile.remove(Self.exported)
    let copies = example.hasCopy ? try CopiedStore.edited() : nil
    let store = try copies?.here ?? Sample.store()
    let driver = Driver(
      store, start: .init(datastore: example.datastore), warmUp: FakeWarmUp())
    for step in example.before { try driver.play(step) }
    if let meanwhile = example.meanwhile {
      try meanwhile(store)
      driver.tell(.storeStirred)
    }
    for step in example.then { try driver.play(step) }
    try command(driver)
    for step in example.after { try driver.play(step) }
    #expect(driver.meets(example.expected) == isMet, "\(how):\n\(driver.screen)")
  }
}

extension Driver {
  /// Does a line of a script.
  func play(_ line: String) throws {
    for step in try Script(parsing: line).steps {
      if case .event(let event) = step { tell(.event(event)) }
    }
  }

  fileprivate func meets(_ expected: CommandExample.Expectation) -> Bool {
    switch expected {
    case .seen(let text): shows(text)
    case .gone(let text): !shows(text)
    case .selected(let identifier): selectedIdentifier == identifier
    case .copied(let text): copied == text
    case .quits: hasQuit
    case .holds(let condition): condition(self)
    }
  }
}
