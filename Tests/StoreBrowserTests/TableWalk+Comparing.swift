import StrataDocuments
import StrataEngine
import StrataModel
import StrataTerminal
import Testing

@testable import StoreBrowser

/// What the screen must show.
extension TableWalk {
  mutating func fail(_ what: String) {
    hasFailed = true
    Issue.record("seed \(seed): \(what)\n\(log.suffix(25).joined(separator: "; "))\n\(driver.screen)")
  }

  mutating func check() throws {
    guard !hasFailed else { return }
    let (table, session) = (driver.browser.table, driver.browser.session)
    guard driver.browser.overlays.isEmpty else { return fail("an overlay is open") }
    guard let state = states[session.shown] else { return fail("\(session.shown) is shown") }
    guard session.asOf != nil || !session.isFollowing || session.shown == store.head.commit else {
      return fail("\(session.shown) is not the head")
    }
    let view = try store.view(at: session.shown)
    guard table.commit(session) == view.commit else {
      return fail("the table shows \(table.commit(session)), not \(view.commit)")
    }
    guard let datastore = try view.datastore("T") else { return fail("no datastore") }
    let index = try datastore.index(table.source?.index)
    var ids: [String] = []
    for rank in table.shownRanks {
      ids.append(try index.entries(at: rank..<rank + 1).first?.identifier.description ?? "-")
    }
    let expected = try rows(of: state, index)
    guard ids.sorted() == expected.sorted() else {
      return fail("rows \(ids.sorted()) are not \(expected.sorted())")
    }
    if order.path != "tags" {
      let keys = ids.map { id in key(of: state[id], id, order.path) }.filter { !$0.isEmpty }
      let sorted = order.isDescending ? Array(keys.sorted().reversed()) : keys.sorted()
      guard keys == sorted else { return fail("order by \(order): \(keys)") }
    }
    // Only an index over a list leaves records out, and only those without an element.
    if table.source?.index != "tags", ids.isEmpty == state.isEmpty, filter == nil, range == nil,
      ids.count != state.count
    {
      return fail("\(ids.count) rows of \(state.count) records")
    }
    let count = ids.count + (session.asOf == nil ? new.count : 0)
    guard table.count(session) == count else { return fail("\(table.count(session)) rows are not \(count)") }
    guard table.selectedIdentifier(session) != nil || count == 0 else {
      return fail("no record is selected of \(count)")
    }
    let totals = session.staged.totals
    let deleted = staged.values.count { $0 == nil }
    guard totals.updated == staged.count - deleted, totals.deleted == deleted, totals.inserted == new.count else {
      return fail("staged \(staged) \(new) are \(totals)")
    }
    try checkScreen(ids, state)
  }

  /// The identifiers of the rows along an index: one with many values has a row for each.
  func rows(of state: [String: Item], _ index: any ReadableIndex) throws -> [String] {
    try index.entries(at: 0..<index.count).map(\.identifier.description).filter { id in
      guard let item = state[id], filter?.keeps(item) != false else { return false }
      return range == nil || item.n.map { range?.contains($0) == true } == true
    }
  }

  func key(of item: Item?, _ id: String, _ path: String) -> String {
    guard let item else { return "" }
    return switch path {
    case "id": id
    case "n", "d": item.n.map(String.init) ?? ""
    case "?": ""
    case "group": item.group
    default: item.name
    }
  }

  mutating func checkScreen(_ ids: [String], _ state: [String: Item]) throws {
    let isHead = driver.browser.session.asOf == nil
    var shown: [String] = []
    var columns: Set<String> = []
    for line in driver.lines {
      let parts = line.split(separator: "┃", omittingEmptySubsequences: false)
      guard parts.count == 3 else { continue }
      let words = parts[1].split { " ▶~-+*●▏→".contains($0) }.map(String.init)
      if words.contains("id") { columns = Set(words) }
      guard let id = words.first(where: { $0.count == 4 && $0.first == "k" && Int($0.dropFirst()) != nil }) else {
        continue
      }
      guard let item = state[id] ?? new[id] else { return fail("\(id) is shown and is not stored") }
      if parts[1].contains("▶"), driver.selectedIdentifier != id { return fail("the cursor is on \(id)") }
      shown.append(id)
      let n = isHead ? staged[id].flatMap { $0 } ?? item.n : item.n
      var values = columns.contains("name") ? [item.name] : []
      if columns.contains("n"), let n { values.append("\(n)") }
      if columns.contains("d"), let n { values.append("\(n * 2)") }
      guard values.allSatisfy(words.contains) else { return fail("\(line) has not \(values)") }
    }
    let rows = shown.filter { state[$0] != nil }
    guard ids.indices.contains(where: { ids[$0...].starts(with: rows) }) || rows.isEmpty else {
      return fail("shown \(shown) in another order")
    }
    if let line = driver.lines.first(where: { $0.contains("3 Record ") }), let id = driver.selectedIdentifier {
      guard line.contains(id) else { return fail("the record pane does not show \(id)") }
      let values = driver.lines.compactMap { $0.split(separator: "│").last }.map {
        $0.split(separator: " ").map(String.init)
      }
      if let item = state[id] ?? new[id], !isHead || staged[id] == nil {
        for words in [["n", item.n.map(String.init) ?? ""], ["name", "\"\(item.name)\""]]
        where values.contains(where: { $0.first == words[0] && $0.count < 4 && $0[1] != words[1] }) {
          return fail("the record pane does not show \(words)")
        }
      }
    }
    log.append("[\(shown.count)]")
  }
}
