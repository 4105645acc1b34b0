import Documents
import DatastoreModel
#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif
import StoreBrowser

// The verbs that bring documents in: import, put.

extension VerbRun {
  func importFile() throws -> Int32 {
    let plan = try importPlan()
    var source = try TableSource(path: required(2))
    let path = try required(0)
    let isNew = !isServer(path) && !FileManager.default.fileExists(atPath: path)
    let store = try importedStore(at: path, isNew: isNew)
    defer { if isNew, store.head.commit == CommitNumber(0) { try? FileManager.default.removeItem(atPath: path) } }
    let meter = ProgressMeter("importing \(plan.datastore)")
    let report = try Importer(store, plan, progress: meter.report).run(&source, named: arguments.value("--name"))
    meter.finish()
    for rejection in report.rejections { complain(rejection.description) }
    if report.rejected > report.rejections.count {
      complain("and \(report.rejected - report.rejections.count) more rejected")
    }
    for column in source.columns { column.exceptions.map { complain($0.sentence(for: column.path)) } }
    for repeated in report.repeats.prefix(20) { complain(repeated.description) }
    if report.repeats.count > 20 { complain("\(report.repeated) rows in all were replaced by later ones") }
    try print(report, columns: source.columns)
    return report.rejected == 0 ? 0 : 1
  }

  /// The store to import into: made where there is none, except that a dry run then goes into memory.
  private func importedStore(at path: String, isNew: Bool) throws -> OwnStore {
    // A dry run leaves nothing on a server either, so there must be a store.
    guard arguments.has("--dry-run") else { return try madeStore(at: path) }
    if isServer(path) { return try ownStore(openServer(path, readOnly: false)) }
    return isNew ? OwnStore.memory(program: "strata", author: currentUser()) : try madeStore(at: path)
  }

  private func importPlan() throws -> ImportPlan {
    guard let identifier = arguments.value("--id") else {
      throw UsageError("--id names the field that is the identifier", verb: arguments.verb)
    }
    let direct = arguments.values("--direct")
    let indexes = try arguments.values("--index").map { text in
      var index = try importIndex(text)
      if direct.contains(index.name) { index.storage = .direct }
      return index
    }
    if let unknown = direct.first(where: { name in !indexes.contains { $0.name == name } }) {
      throw UsageError("--direct \(unknown): there is no --index of that name", verb: arguments.verb)
    }
    return ImportPlan(
      datastore: try required(1), identifier: try onDocument(DocumentPath(parsing: identifier)), indexes: indexes,
      isNewOnly: arguments.has("--new-only"), isDryRun: arguments.has("--dry-run"))
  }

  /// `NAME=FIELDPATH[:KIND]`
  private func importIndex(_ text: String) throws -> ImportPlan.Index {
    let parts = text.split(separator: "=", maxSplits: 1).map(String.init)
    guard parts.count == 2 else {
      throw UsageError("--index is NAME=FIELDPATH[:KIND], not “\(text)”", verb: arguments.verb)
    }
    var (path, kind) = (parts[1], IndexKind.oneToMany)
    if let colon = path.lastIndex(of: ":") {
      guard let named = IndexKind(rawValue: String(path[path.index(after: colon)...])), named != .primary else {
        let kinds = IndexKind.allCases.filter { $0 != .primary }.map(\.rawValue).joined(separator: ", ")
        throw UsageError("--index \(text): the kind is one of \(kinds)", verb: arguments.verb)
      }
      kind = named
      path = String(path[..<colon])
    }
    return ImportPlan.Index(name: parts[0], path: try onDocument(DocumentPath(parsing: path)), kind: kind)
  }

  private func print(_ report: ImportReport, columns: [TableSource.Column]) throws {
    if isJSON {
      return try line([
        "commit": report.commit.map(Document.commit) ?? .null, "new": .count(report.new),
        "changed": .count(report.changed), "unchanged": .count(report.unchanged), "rejected": .count(report.rejected),
        "repeated": .count(report.repeated),
        "repeats": .array(report.repeats.map(Self.document)),
        "mixedColumns": .array(columns.compactMap(Self.document)),
      ])
    }
    for column in columns { try output.line("\(column.path): \(column.type)") }
    try printTypes(report.descriptor)
    var counts =
      "\(report.new) new, \(report.changed) changed, \(report.unchanged) unchanged, \(report.rejected) rejected"
    if report.repeated > 0 { counts += ", \(report.repeated) replaced by later rows" }
    let before = arguments.has("--dry-run") ? "dry run: " : ""
    try output.line(report.commit.map { "\($0)  \(counts)" } ?? "\(before)\(counts); nothing was written")
  }

  private static func document(_ repeated: ImportReport.Repeat) -> Document {
    [
      "identifier": repeated.identifier.value.document, "count": .count(repeated.count),
      "rows": .array(repeated.rows.map(Document.string)),
    ]
  }

  private static func document(_ column: TableSource.Column) -> Document? {
    guard let exceptions = column.exceptions else { return nil }
    return [
      "path": .string(column.path.description), "mostly": .string(exceptions.type.description),
      "cells": .count(exceptions.cells), "others": .count(exceptions.others),
      "first": .array(exceptions.first.map { ["place": .string($0.place), "text": .string($0.text)] }),
    ]
  }

  /// The types that identifier and indexes have, which are guessed from the documents where the datastore is new.
  private func printTypes(_ descriptor: DatastoreDescriptor) throws {
    let path = descriptor.identifierPath ?? ""
    try output.line("id \(path): \(descriptor.identifierType)")
    for index in descriptor.indexes {
      let storage = index.storage == .direct ? ", direct" : ""
      try output.line("index \(index.name) \(index.rule ?? ""): \(index.valueType), \(index.kind.rawValue)\(storage)")
    }
  }

  func put() throws -> Int32 {
    let store = try editableStore()
    guard let own = store as? OwnStore else {
      throw ModelError.readOnly(reason: "stores of this kind are only read")
    }
    var source = try TableSource(path: arguments.operand(2) ?? "-", isKeyed: false)
    var documents: [Document] = []
    while let row = try source.next() {
      switch row.content {
      case .document(let document): documents.append(document)
      case .unreadable(let reason):
        throw ModelError.invalid(text: "", column: nil, reason: "\(row.place): \(reason)")
      }
    }
    let key = try required(1)
    return try printCommit(
      onNewestState(of: own) {
        let changes = try own.changes(putting: documents, into: key)
        let name =
          changes.count == 1
          ? "put \(key) \(changes.changes[0].identifier)" : "put \(changes.count) records into \(key)"
        return try own.commit(changes, named: arguments.value("--name") ?? name, options: EditOptions())
      })
  }

  /// Runs what reads the newest state, again where a compaction of the server has removed that meanwhile.
  private func onNewestState<Value>(of store: OwnStore, _ body: () throws -> Value) throws -> Value {
    for _ in 0..<32 {
      let state = store.head.commit
      do {
        return try body()
      } catch ModelError.noSuchCommit where isServer(store.path) {
        guard try store.refresh().commit != state else { break }
      }
    }
    return try body()
  }
}
