import StrataDocuments
import StrataModel
import StrataTerminal
import Testing

@testable import StoreBrowser

@Suite("A monkey at the keys")
struct MonkeyTests {
  /// A generator that a seed repeats.
  struct Seeded: RandomNumberGenerator {
    var state: UInt64
    mutating func next() -> UInt64 {
      state &+= 0x9E37_79B9_7F4A_7C15
      var z = state
      z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
      z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
      return z ^ (z >> 31)
    }
  }

  @Test(
    "random keys, resizes and other programs' commits: no trap, whole pictures, a head that is right",
    arguments: [1, 2, 3])
  func random(seed: UInt64) throws {
    var generator = Seeded(state: seed)
    let store = try Sample.store()
    let folder = "/tmp/strata-test-\(UInt64.random(in: 0 ... .max))"
    var files = BrowserFiles(folder: folder)
    files.base = folder
    defer { TestFile.remove(folder) }
    let driver = Driver(store, start: .init(datastore: "City"), files: files)
    // Every key of the table but those that leave, and what people type.
    let keys = CommandTable.all.filter { ![.quit, .close, .interrupt, .suspend].contains($0.command) }.flatMap(\.keys)
    let texts = [
      "1", "12 x", "name = \"Bern\"", "population > 5", "#2", "head~1", "= 5 ...", "null", "\"", "日本",
      "set name = upper(name)",
    ]
    var log: [String] = []
    for event in 0..<700 {
      switch Int.random(in: 0..<24, using: &generator) {
      case 0:
        let size = Size(
          columns: Int.random(in: 1...170, using: &generator), rows: Int.random(in: 1...60, using: &generator))
        log.append("\(size)")
        driver.resize(size)
      case 1:
        try Sample.change(store, "Country", "CH", ".population", to: .number(NumberText(event)))
        log.append("outside")
        driver.tell(.storeStirred)
      case 2:
        let text = texts.randomElement(using: &generator) ?? ""
        log.append("type \(text)")
        driver.type(text)
      case 3, 4:
        log.append("Enter")
        driver.press("Enter")
      case 5:
        log.append("Esc")
        driver.press("Esc")
      case 6:
        if let request = driver.editorRequest {
          log.append("editor")
          driver.tell(.editorClosed(EditorOutcome(text: request.text)))
        }
      default:
        let key = keys.randomElement(using: &generator) ?? "j"
        log.append(key)
        driver.press(key)
      }
      let grid = driver.grid
      let isWhole = grid.size == driver.size && grid.lines().allSatisfy { SafeText.width($0) == driver.size.columns }
      guard isWhole else {
        Issue.record("seed \(seed): \(log.suffix(30).joined(separator: " "))")
        return
      }
    }
    #expect(driver.browser.session.head == (try store.refresh().commit), "seed \(seed)")
    #expect(driver.browser.session.running.isEmpty, "seed \(seed): \(driver.browser.session.running)")
  }
}
