import StrataDocuments
import StrataEngine
import StrataModel
import StrataTerminal
import Testing

@testable import StoreBrowser

/// What the walk edits, and what another program writes.
extension TableWalk {
  /// Whether records of the table can be edited, and the identifier of that under the cursor.
  mutating func editable() -> String? {
    settle()
    guard driver.browser.session.asOf == nil else { return nil }
    if !driver.browser.session.isFollowing { press("F") }
    settle()
    guard let id = driver.selectedIdentifier else { return nil }
    if case .some(.none) = staged[id] { return nil }
    return id
  }

  mutating func keepStaged() {
    before.append(staged)
    newBefore.append(new)
  }

  mutating func edit() throws {
    guard let id = editable() else { return }
    driver.go(to: ".n")
    let value = number(100..<160)
    log.append("edit \(id) n \(value)")
    driver.press("e ^u")
    driver.type("\(value)")
    if number(0..<3) == 0 { try writeOutside() }
    driver.press("Enter")
    let shown = new[id]?.n ?? staged[id].flatMap { $0 } ?? stored[id]?.n
    guard value != shown else { return }
    keepStaged()
    if new[id] != nil { new[id]?.n = value } else { staged[id] = stored[id]?.n == value ? nil : .some(.some(value)) }
  }

  mutating func delete() {
    guard let id = editable() else { return }
    log.append("delete \(id)")
    driver.press("d d")
    keepStaged()
    if new.removeValue(forKey: id) == nil { staged[id] = .some(.none) }
  }

  mutating func deleteMarked() {
    guard editable() != nil else { return }
    let isRange = number(0..<2) == 0
    var chosen: Set<String> = []
    if isRange { driver.press("v") }
    for _ in 0..<number(1..<6) {
      settle()
      guard let id = driver.selectedIdentifier else { break }
      if case .some(.none) = staged[id] { break }
      if isRange, let one = chosen.first, (new[one] == nil) != (new[id] == nil) { break }
      guard chosen.insert(id).inserted else { break }
      driver.press(isRange ? "j" : "Space")
      if !isRange, driver.browser.table.marks.count != chosen.count {
        return fail("marks \(driver.browser.table.marks)")
      }
      if number(0..<4) == 0, !isRange, filter == nil, range == nil { try? writeOutside() }
    }
    guard !chosen.isEmpty else { return }
    if isRange, let id = driver.selectedIdentifier, !chosen.contains(id) { driver.press("k") }
    log.append("delete \(isRange ? "range" : "marked") \(chosen.sorted())")
    driver.press("d d")
    settle()
    keepStaged()
    for id in chosen where new.removeValue(forKey: id) == nil && stored[id] != nil { staged[id] = .some(.none) }
  }

  mutating func copy() throws {
    guard let id = editable(), let item = new[id] ?? stored[id] else { return }
    let other = "k\(number(200..<999))"
    guard new[other] == nil, stored[other] == nil, staged[other] == nil else { return }
    log.append("copy \(id) as \(other)")
    driver.press("D")
    settle()
    guard let text = driver.editorRequest?.text else { return fail("no editor") }
    driver.tell(.editorClosed(EditorOutcome(text: text.replacing(id, with: other))))
    settle()
    keepStaged()
    new[other] = item
    if let value = staged[id], let value { new[other]?.n = value }
  }

  mutating func setAll() throws {
    _ = editable()
    guard driver.browser.session.asOf == nil, staged.isEmpty, new.isEmpty else { return }
    let limit = 100 + number(0..<50)
    log.append("set where n > \(limit)")
    try driver.play(":set n = n + 1 where n > \(limit)")
    settle()
    driver.press(stored.values.contains { ($0.n ?? 0) > limit } ? "Enter" : "Esc")
    settle()
    keepStaged()
    for (id, item) in stored where (item.n ?? 0) > limit {
      staged[id] = .some(item.n.map { $0 + 1 })
    }
    if staged.isEmpty { (before, newBefore) = (before.dropLast(), newBefore.dropLast()) }
  }

  mutating func unstage() {
    _ = editable()
    guard driver.browser.session.asOf == nil, !(staged.isEmpty && new.isEmpty), let last = before.popLast(),
      let lastNew = newBefore.popLast()
    else { return }
    log.append("u")
    driver.press("u")
    (staged, new) = (last, lastNew)
  }

  mutating func commit() throws {
    _ = editable()
    guard driver.browser.session.asOf == nil, !(staged.isEmpty && new.isEmpty) else { return }
    log.append("commit")
    driver.press("w")
    settle()
    driver.press("Enter")
    settle()
    driver.press("Enter")
    settle()
    for (id, value) in staged {
      if let value { stored[id]?.n = value } else { stored[id] = nil }
    }
    for (id, item) in new { stored[id] = item }
    (staged, before, new, newBefore) = ([:], [], [:], [])
    keepState()
  }

  /// Takes the newest commit back, and reads what is stored then.
  mutating func undoCommit() throws {
    _ = editable()
    guard driver.browser.session.asOf == nil, staged.isEmpty, new.isEmpty, before.isEmpty,
      try store.undoCandidate()?.rawValue ?? 1 > 1
    else { return }
    log.append("undo a commit")
    driver.press("u")
    for _ in 0..<4 where !driver.browser.overlays.isEmpty {
      settle()
      driver.press("Enter")
    }
    settle()
    if !driver.browser.overlays.isEmpty { driver.press("Esc") }
    settle()
    try readStored()
  }

  static func text(_ value: Document) -> String { if case .string(let text) = value { text } else { "" } }

  mutating func readStored() throws {
    stored = [:]
    guard let datastore = try store.refresh().datastore("T") else { return }
    for entry in try datastore.primary.entries(at: 0..<datastore.count) {
      guard let document = try datastore.record(entry.identifier)?.document() else { continue }
      func text(_ name: String) -> String { Self.text(document[member: name] ?? .null) }
      var tags: [String] = []
      if case .array(let elements)? = document[member: "tags"] { tags = elements.map(Self.text) }
      stored[text("id")] = Item(
        name: text("name"), group: text("group"), n: document[member: "n"]?.number.map { Int($0) }, tags: tags)
    }
    keepState()
  }

  mutating func writeOutside(but kept: String? = nil) throws {
    let free = stored.keys.filter { staged[$0] == nil && $0 != kept && $0 != driver.selectedIdentifier }.sorted()
    switch number(0..<6) {
    case 0:
      let id = "k\(number(100..<200))"
      guard stored[id] == nil, staged[id] == nil else { return }
      let item = Item(
        name: "nm_\(number(0..<7))", group: "gr_\(number(0..<4))",
        n: number(0..<5) == 0 && stored.values.contains { $0.n == nil } ? nil : number(100..<150),
        tags: ["t_\(number(0..<5))"])
      stored[id] = item
      log.append("outside adds \(id)")
      try Sample.add([TableWalk.document(id, item)], to: store, Sample.plan("T", "id", []), "outside")
    case 1:
      guard let id = free.randomElement(using: &random) else { return }
      stored[id] = nil
      log.append("outside deletes \(id)")
      try Sample.delete(store, "T", id)
    case 2, 3:
      guard let id = free.randomElement(using: &random) else { return }
      let value = number(100..<160)
      guard stored[id]?.n != value else { return }
      stored[id]?.n = value
      log.append("outside sets n of \(id) to \(value)")
      try Sample.change(store, "T", id, ".n", to: .number(NumberText(value)))
    default:
      let others = stored.keys.filter { if case .some(.none) = staged[$0] { false } else { true } }.sorted()
      guard let id = others.randomElement(using: &random) else { return }
      let name = "nm_\(number(0..<7))"
      guard stored[id]?.name != name else { return }
      stored[id]?.name = name
      log.append("outside sets name of \(id) to \(name)")
      try Sample.change(store, "T", id, ".name", to: .string(name))
    }
    keepState()
    driver.tell(.storeStirred)
  }
}
