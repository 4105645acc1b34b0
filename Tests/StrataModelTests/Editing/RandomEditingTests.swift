import StrataDocuments
import StrataEngine
import Testing

@testable import StrataModel

/// Random edits, undos, restores and app writes against a dictionary: after each step the head must hold what the model
/// says, in the end every commit must, and `verify` must be clean.
@Suite("Random editing against a model")
struct RandomEditingTests {
  private struct Model {
    var states: [CommitNumber: [Int: Document]] = [:]
    var current: [Int: Document] = [:]
  }

  @Test("any sequence of edits leaves records, indexes and history right", arguments: 1...4 as ClosedRange<UInt64>)
  func random(seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    let store = EngineStore.memory(program: "Tests")
    var model = Model()
    for id in 1...30 { model.current[id] = Cities.document(id) }
    let first = try Cities.write((1...30).map { Cities.document($0) }, to: store)
    model.states[first] = model.current
    for _ in 0..<60 {
      let number = try step(store, &model, &random)
      model.states[number] = model.current
      #expect(try state(of: store, at: number) == model.current)
    }
    for (number, expected) in model.states {
      #expect(try state(of: store, at: number) == expected, "\(number)")
    }
    let report = try store.verifyModel(at: store.head.commit)
    #expect(report.isClean, "\(report.allFindings)")
    try checkDifferences(store, model, &random)
  }

  private func step(
    _ store: EngineStore, _ model: inout Model, _ random: inout SeededGenerator
  ) throws -> CommitNumber {
    switch Int.random(in: 0..<10, using: &random) {
    case 0..<5: return try edit(store, &model, &random)
    case 5..<7:
      let id = Int.random(in: 1...40, using: &random)
      let document = Cities.document(id, name: "App \(Int.random(in: 0...9, using: &random))")
      model.current[id] = document
      return try Cities.write([document], to: store)
    case 7:
      guard let candidate = try store.undoCandidate(), let parent = try store.commit(candidate).parents.first,
        let state = model.states[parent], try store.undoPreview(of: candidate, progress: nil).count > 0
      else { return store.head.commit }
      // By roots only where nothing came after it that a merge would keep.
      let number = try store.undo(candidate, named: "undo")
      if try store.commit(number).undoes == candidate { model.current = try self.state(of: store, at: number) }
      if try store.isSame("City", in: number, and: parent) { #expect(model.current == state) }
      return number
    case 8:
      guard let (commit, state) = model.states.randomElement(using: &random) else { return store.head.commit }
      model.current = state
      return try store.restore(commit, datastore: Bool.random(using: &random) ? "City" : nil, named: "restore")
    default:
      guard let candidate = try store.redoCandidate() else { return store.head.commit }
      guard try store.undoPreview(of: candidate, progress: nil).count > 0 else { return store.head.commit }
      let number = try store.undo(candidate, named: "redo")
      model.current = try state(of: store, at: number)
      return number
    }
  }

  private func edit(
    _ store: EngineStore, _ model: inout Model, _ random: inout SeededGenerator
  ) throws -> CommitNumber {
    var changes = ChangeSet()
    for id in Set((0..<4).map { _ in Int.random(in: 1...40, using: &random) }) {
      let new: Document? = Int.random(in: 0..<3, using: &random) == 0 ? Optional.none : randomDocument(id, &random)
      guard new != nil || model.current[id] != nil else { continue }
      changes.changes.append(Cities.edit(id, from: model.current[id], to: new))
      model.current[id] = new
    }
    return try store.commit(changes, named: "edit", options: EditOptions(marksIndexesStale: false))
  }

  private func randomDocument(_ id: Int, _ random: inout SeededGenerator) -> Document {
    Cities.document(
      id, name: "Name \(Int.random(in: 0...99, using: &random))",
      country: ["CH", "FR", "IR", "ÅL"].randomElement(using: &random),
      population: Int.random(in: -5...5_000_000, using: &random),
      tags: (0..<Int.random(in: 0...3, using: &random)).map { _ in "t\(Int.random(in: 0...8, using: &random))" })
  }

  private func state(of store: EngineStore, at commit: CommitNumber) throws -> [Int: Document] {
    let datastore = try store.engineView(at: commit).requiredDatastore("City")
    var state: [Int: Document] = [:]
    for entry in try datastore.primary.entries(at: 0..<datastore.count) {
      guard case .integer(let id) = entry.value else { continue }
      state[Int(id)] = try datastore.record(entry.identifier)?.document()
    }
    return state
  }

  /// The difference of two commits turns the one's state into the other's, and versions agree with the states.
  private func checkDifferences(_ store: EngineStore, _ model: Model, _ random: inout SeededGenerator) throws {
    let numbers = model.states.keys.sorted()
    for _ in 0..<40 {
      guard let old = numbers.randomElement(using: &random), let new = numbers.randomElement(using: &random),
        var state = model.states[old], let wanted = model.states[new]
      else { continue }
      let reader = try store.changes(from: old, to: new)
      while case let part = try reader.next(7), !part.isEmpty {
        for change in part {
          guard case .integer(let id) = change.identifier.value else { continue }
          #expect(try change.old?.document() == state[Int(id)])
          state[Int(id)] = try change.new?.document()
        }
      }
      #expect(state == wanted, "\(old) to \(new)")
    }
    for id in 1...40 {
      let versions = try store.versions(of: Cities.key(id), in: "City", from: store.head.commit, limit: 1_000)
      for version in versions {
        guard let state = model.states[version.commit.number] else { continue }
        #expect(try version.record?.document() == state[id], "\(id) at \(version.commit.number)")
      }
      #expect(try versions.first?.record?.document() == model.current[id])
    }
  }
}
