public import CodableDatastore
import StrataDocuments
public import StrataFoundation

/// The detail of each property in the interchange form.
public enum EntityInterchangeForm: Hashable, Sendable {
  /// Kind, label and date of every value.
  case full
  /// A bare JSON value if that loses nothing, and defaults left out.
  case compact
}

/// The result of an import.
public struct EntityImportReport: Hashable, Sendable {
  /// Entities that did not exist before.
  public var created = 0
  /// Entities that the import changed.
  public var updated = 0
  /// Entities that the import did not change.
  public var unchanged = 0
  /// References of the imported entities to entities that do not exist.
  public var dangling = 0

  /// Makes the result of an import.
  public init(created: Int = 0, updated: Int = 0, unchanged: Int = 0, dangling: Int = 0) {
    (self.created, self.updated, self.unchanged, self.dangling) = (created, updated, unchanged, dangling)
  }
}

extension EntityStore {
  /// Writes the entities in their interchange form: JSON (RFC 8259, UTF-8), by their identifiers, their properties by name.
  ///
  /// If an export is imported into an empty datastore and exported again, the text is the same.
  ///
  /// - Parameters:
  ///   - form: The detail of each property.
  ///   - history: Whether to add the earlier values of each property. Reads the versions of every entity.
  ///   - write: Called with the text, a piece for each entity.
  /// - Throws: The errors of `write`, and ``StoreError`` if the store cannot be read.
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
  /// - Throws: ``StoreError`` if the store cannot be read.
  public func exported(form: EntityInterchangeForm = .full, history: Bool = false) async throws -> Data {
    var text = Data()
    try await export(form: form, history: history) { text.append($0) }
    return text
  }
}

extension EntityStore where AccessMode == ReadWrite {
  /// Imports entities from their interchange form, in one transaction: all of them, or none.
  ///
  /// Entities that do not exist are created. In those that do, properties are set where the file differs; properties that the file does not
  /// have stay. References may name entities that come later in the file, or that do not exist.
  ///
  /// - Parameters:
  ///   - data: JSON of either form, with or without histories.
  ///   - now: The date of values without one.
  ///   - actionName: The name of the change in the history of the store.
  /// - Throws: ``EntityError/interchange(place:reason:)`` with the fault and its place; then nothing was written.
  @discardableResult
  public func importing(
    _ data: Data, now: Date = .now, actionName: String = "import entities"
  ) async throws -> EntityImportReport {
    let entities = try InterchangeReader(now: now).entities([UInt8](data))
    for entity in entities { try entity.requireSound() }
    return try await persistence.perform(actionName: actionName, options: .retriesConflicts) {
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
  /// The entity with the properties of another one set.
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
      if let removed = past.first, let own = merged[key], own.date <= removed.date { merged.properties[key] = nil }
    }
    return merged
  }
}
