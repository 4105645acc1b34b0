public import CodableDatastore
import Documents
#if canImport(FoundationEssentials)
  public import FoundationEssentials
#else
  public import Foundation
#endif

/// How much the interchange form says of each property.
public enum EntityInterchangeForm: Hashable, Sendable {
  /// Kind, label and date of every value.
  case full
  /// A bare JSON value where nothing is lost by it, and what is not said otherwise left out.
  case compact
}

/// What came of an import.
public struct EntityImportReport: Hashable, Sendable {
  /// Entities that were not there before.
  public var created = 0
  /// Entities of which something is said now that was not before.
  public var updated = 0
  /// Entities of which everything was known.
  public var unchanged = 0
  /// References of the imported entities that lead nowhere.
  public var dangling = 0

  /// Counts what came of an import.
  public init(created: Int = 0, updated: Int = 0, unchanged: Int = 0, dangling: Int = 0) {
    (self.created, self.updated, self.unchanged, self.dangling) = (created, updated, unchanged, dangling)
  }
}

extension EntityStore {
  /// The entities in their interchange form: JSON (RFC 8259, UTF-8), by their identifiers, their properties by name.
  ///
  /// What is exported, imported into an empty datastore and exported again is the same text.
  ///
  /// - Parameters:
  ///   - form: How much is said of each property.
  ///   - history: Whether each property carries what it was before. Reads the versions of every entity.
  ///   - write: Is given the text, a piece for each entity.
  /// - Throws: What `write` throws, and ``StoreError`` where the store cannot be read.
  public func export(
    form: EntityInterchangeForm = .full, history: Bool = false, to write: (Data) throws -> Void
  ) async throws {
    let writer = InterchangeWriter(form: form)
    try write(Data(#"{"entities":["#.utf8))
    var separator = "\n"
    for try await entity in datastore.load(...) {
      let past = history ? try await pasts(of: entity.id) : [:]
      try write(Data((separator + writer.document(of: entity, past: past).compactJSON).utf8))
      separator = ",\n"
    }
    try write(Data("\n]}\n".utf8))
  }

  /// The entities in their interchange form, in one piece; see ``export(form:history:to:)``.
  ///
  /// - Throws: ``StoreError`` where the store cannot be read.
  public func exported(form: EntityInterchangeForm = .full, history: Bool = false) async throws -> Data {
    var text = Data()
    try await export(form: form, history: history) { text.append($0) }
    return text
  }
}

extension EntityStore where AccessMode == ReadWrite {
  /// Takes in entities from their interchange form, in one transaction: all of them, or none.
  ///
  /// Entities that are not there are created. Of those that are, what the file says is said where it differs; what it does
  /// not speak of stays. References may lead to entities that come later in the file, or nowhere.
  ///
  /// - Parameters:
  ///   - data: JSON of either form, with or without histories.
  ///   - now: The date of what has none.
  ///   - actionName: What the history of the store calls it.
  /// - Throws: ``EntityError/interchange(place:reason:)`` with what is wrong and where; then nothing was written.
  @discardableResult
  public func importing(
    _ data: Data, now: Date = .now, actionName: String = "import entities"
  ) async throws -> EntityImportReport {
    let entities = try InterchangeReader(now: now).entities([UInt8](data))
    for entity in entities { try entity.requireSound() }
    return try await persistence.perform(actionName: actionName) {
      var report = EntityImportReport()
      for entity in entities {
        guard let known = try await datastore.load(entity.id) else {
          try await datastore.persist(entity)
          report.created += 1
          continue
        }
        let merged = known.taking(entity)
        if merged == known {
          report.unchanged += 1
        } else {
          try await datastore.persist(merged)
          report.updated += 1
        }
      }
      let known = Set(entities.map(\.id))
      for target in entities.reduce(into: Set<String>(), { $0.formUnion($1.targets) }) where !known.contains(target) {
        if try await datastore.load(target) == nil { report.dangling += 1 }
      }
      return report
    }
  }
}

extension Entity {
  /// The entity with what another says of it.
  fileprivate func taking(_ other: Entity) -> Entity {
    var merged = self
    merged.type = other.type
    merged.created = min(created, other.created)
    for (key, property) in other.properties { merged.set(key, property) }
    for (key, past) in other.past {
      let known = merged.past[key] ?? []
      let new = past.filter { !known.contains($0) }
      if !new.isEmpty { merged.past[key] = known.isEmpty ? new : (known + new).sorted { $0.date > $1.date } }
    }
    for (key, past) in other.past where other[key] == nil && past.first?.property == nil {
      if let removed = past.first, let own = merged[key], own.date <= removed.date { merged.drop(key) }
    }
    return merged
  }
}
