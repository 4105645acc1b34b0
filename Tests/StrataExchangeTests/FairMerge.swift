import StrataModel
import StrataDocuments
import StrataEngine
import Testing

@testable import StrataExchange

extension ExchangedStore {
  /// All records as of a commit, by identifier. The head of a new store is no commit, and has none.
  func documents(at commit: CommitIdentity) throws -> [String: Document] {
    if commit == head, own.engine.head.commit.number == 0 { return [:] }
    let number = try #require(graph.number(of: commit))
    guard let datastore = try own.view(at: CommitNumber(number)).datastore("City") else { return [:] }
    var found: [String: Document] = [:]
    var records = try datastore.records()
    while try records.next() {
      if let record = try records.record() { found["\(record.identifier)"] = try record.document() }
    }
    return found
  }
}

/// A list is one value, which one of both sides has; elements with an identity keep it, and are in the order of one side; of what has no
/// order, all is there that both have, and nothing that neither has.
func expectFair(
  _ merged: [String: Document], _ ours: [String: Document], _ theirs: [String: Document]
) {
  for (identifier, document) in merged {
    guard let ours = ours[identifier], let theirs = theirs[identifier] else { continue }
    func parts(_ name: String, _ size: Int, _ document: Document) -> [[Document]]? {
      guard case .array(let elements)? = document[member: name] else { return nil }
      return stride(from: 0, to: elements.count, by: size).map {
        Array(elements[$0..<min($0 + size, elements.count)])
      }
    }
    func sides(_ name: String, _ size: Int = 1) -> (merged: [[Document]], ours: [[Document]], theirs: [[Document]])? {
      guard let merged = parts(name, size, document), let ours = parts(name, size, ours),
        let theirs = parts(name, size, theirs)
      else { return nil }
      return (merged, ours, theirs)
    }
    if let list = sides("list") {
      #expect(list.merged == list.ours || list.merged == list.theirs, "list of \(identifier): \(list)")
    }
    if let items = sides("items") {
      func identities(_ items: [[Document]]) -> [Document?] { items.map { $0[0][member: "id"] } }
      let order = identities(items.merged)
      #expect(
        order == identities(items.ours) || order == identities(items.theirs), "items of \(identifier): \(items)")
      #expect(
        items.merged.allSatisfy { items.ours.contains($0) || items.theirs.contains($0) },
        "items of \(identifier): \(items)")
    }
    for (name, size) in [("tags", 1), ("colors", 2)] {
      guard let all = sides(name, size) else { continue }
      #expect(
        all.merged.allSatisfy { all.ours.contains($0) || all.theirs.contains($0) },
        "\(name) of \(identifier): \(all)")
      #expect(
        all.ours.allSatisfy { !all.theirs.contains($0) || all.merged.contains($0) },
        "\(name) of \(identifier): \(all)")
    }
  }
}
