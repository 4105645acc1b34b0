import StrataDocuments
import StrataFoundation

/// Writes entities in their interchange form.
struct InterchangeWriter {
  /// The detail of each property.
  let form: EntityInterchangeForm

  /// The document of an entity. `past` has the earlier values of its properties, if they are to be written.
  func document(of entity: Entity, past: [EntityKey: [EntityPast]]) -> Document {
    var members: [Document.Member] = [
      .init("type", .string(entity.type)), .init("identifier", .string(entity.id)),
      .init("datestamp", .string(EntityDate(entity.created).text)),
    ]
    for key in Set(entity.properties.keys).union(past.keys).sorted() {
      var events = past[key] ?? []
      let newest: EntityPast
      if let property = entity[key] {
        newest = EntityPast(property)
      } else if let first = events.first {
        newest = first
        events.removeFirst()
      } else {
        continue
      }
      members.append(.init(key.rawValue, document(of: newest, events, given: entity.created)))
    }
    return .object(members)
  }

  private func document(of newest: EntityPast, _ past: [EntityPast], given date: Date) -> Document {
    let document = document(of: newest, given: date)
    guard !past.isEmpty else { return document }
    var members: [Document.Member]
    if case .object(let written) = document {
      members = written
    } else if let property = newest.property {
      members = [.init(property.value.kind, bare(property.value, given: property.date))]
    } else {
      members = []
    }
    members.append(.init("history", .array(past.map { self.document(of: $0, given: date) })))
    return .object(members)
  }

  private func document(of past: EntityPast, given date: Date) -> Document {
    guard let property = past.property else {
      return .object([
        .init("removed", .bool(true)), .init("datestamp", .string(EntityDate(past.date).text)),
      ])
    }
    return document(of: property, given: date)
  }

  /// A property; `date` is the date that a reader assumes if there is none.
  private func document(of property: EntityProperty, given date: Date) -> Document {
    let value = bare(property.value, given: property.date)
    let hasOwnLabel = property.label != property.value.kind
    let hasOwnDate = property.date != date
    // Whether the bare JSON value is read back as the same kind.
    let isToldByItsJSON =
      switch property.value {
      case .string, .integer, .double, .boolean, .list: true
      case .date, .data, .entity: false
      }
    if form == .compact, !hasOwnLabel, !hasOwnDate, isToldByItsJSON { return value }
    var members: [Document.Member] = [.init(property.value.kind, value)]
    if form == .full || hasOwnLabel { members.append(.init("type", .string(property.label))) }
    if form == .full || hasOwnDate { members.append(.init("datestamp", .string(EntityDate(property.date).text))) }
    return .object(members)
  }

  private func bare(_ value: EntityValue, given date: Date) -> Document {
    switch value {
    case .string(let text), .entity(let text): .string(text)
    case .integer(let number): .number(NumberText(number))
    case .double(let number): .number(NumberText(number))
    case .boolean(let truth): .bool(truth)
    case .date(let date): .string(EntityDate(date).text)
    case .data(let bytes): .string(bytes.base64EncodedString())
    case .list(let elements): .array(elements.map { document(of: $0, given: date) })
    }
  }
}
