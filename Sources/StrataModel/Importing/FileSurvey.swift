package import StrataDocuments

/// The contents of a file of documents, read before it is imported: its fields with their types, and the field that identifies the
/// documents.
package struct FileSurvey: Sendable {
  package struct Field: Sendable, Hashable {
    package var path: DocumentPath
    /// The type as the library names it; for a list the type of its elements.
    package var typeName: String
    package var isList: Bool
    /// The first value that is not null.
    package var sample: Document?
    /// The few cells that make a column a text column.
    package var exceptions: ColumnExceptions?
  }

  package let format: TableSource.Format
  package let documentCount: Int
  /// The first unreadable rows, and the count of all.
  package let unreadable: [ImportReport.Rejection]
  package let unreadableCount: Int
  package let fields: [Field]
  /// A sentence for each name that was changed.
  package let notes: [String]
  /// The field that identifies all documents; nil if no field with a suitable name does.
  package let identifier: DocumentPath?

  private static let fieldLimit = 200

  /// Reads a file.
  ///
  /// - Parameters:
  ///   - datastore: the name of the target datastore.
  ///   - store: the store that may hold it. Its values decide the types, and its identifier is that of the documents.
  ///   - goesOn: receives the number of documents read; false ends the survey with `ModelError.cancelled`.
  package init(
    path: String, datastore: String, in store: EngineStore? = nil, encoding: TextEncoding? = nil,
    goesOn: (_ count: Int) -> Bool
  ) throws(ModelError) {
    var source = try TableSource(path: path, encoding: encoding)
    let choice = try IdentifierChoice(&source, name: datastore, isLenient: true)
    let shape = try store?.shape(of: datastore)
    identifier = try shape?.identifierField ?? (choice.isKeyed ? DocumentPath([.member(choice.keyName)]) : choice.path)
    source.follow(shape, identifier: identifier)
    notes = source.notes
    format = source.format
    var survey = FieldSurvey(limit: Self.fieldLimit)
    var count = 0
    var (rejected, rejections): (Int, [ImportReport.Rejection]) = (0, [])
    while let row = try source.next() {
      count += 1
      if count % 256 == 0, !goesOn(count) { throw .cancelled }
      switch row.content {
      case .document(let document): survey.see(document, at: .root)
      case .unreadable(let reason):
        rejected += 1
        if rejections.count < 100 { rejections.append(.init(place: row.place.description, reason: reason)) }
      }
    }
    documentCount = count
    (unreadableCount, unreadable) = (rejected, rejections)
    let exceptions = Dictionary(
      source.columns.map { ($0.path, $0.exceptions) }, uniquingKeysWith: { first, _ in first })
    var fields = survey.fields.map { path, field in
      Field(
        path: path, typeName: field.guess.requiredEncoding.swiftName, isList: field.isList, sample: field.sample,
        exceptions: exceptions[path] ?? nil)
    }
    if let identifier, !fields.contains(where: { $0.path == identifier }) {
      fields.insert(Field(path: identifier, typeName: "String", isList: false), at: 0)
    }
    self.fields = fields
  }
}

/// The leaves of documents with their types.
private struct FieldSurvey {
  struct Field {
    var guess = TypeGuess()
    var isList = false
    var sample: Document?
  }

  private var order: [DocumentPath] = []
  private var byPath: [DocumentPath: Field] = [:]
  private let limit: Int

  init(limit: Int) { self.limit = limit }

  var fields: [(DocumentPath, Field)] { order.compactMap { path in byPath[path].map { (path, $0) } } }

  mutating func see(_ document: Document, at path: DocumentPath) {
    if case .object(let members) = document {
      for member in members { see(member.value, at: path.appending(member.name)) }
      return
    }
    guard !path.isRoot else { return }
    if byPath[path] == nil {
      guard order.count < limit else { return }
      order.append(path)
    }
    var field = byPath[path] ?? Field()
    if case .array(let elements) = document {
      field.isList = true
      for element in elements { field.guess.see(element) }
    } else {
      field.guess.see(document)
    }
    if field.sample == nil, document != .null { field.sample = document }
    byPath[path] = field
  }
}
