import StrataDocuments
import StrataFoundation

/// Reads entities from their interchange form, of either kind.
struct InterchangeReader {
  /// The date of values without one.
  let now: Date

  /// The entities of a file, in its order. If any part of the file is wrong, none of it is read.
  func entities(_ bytes: [UInt8]) throws(EntityError) -> [Entity] {
    let document: Document
    do throws(JSONError) { document = try JSONParser.parse(bytes) } catch {
      throw .interchange(place: "line \(error.line), column \(error.column)", reason: error.reason)
    }
    guard case .object(let members) = document, case .array(let list)? = document[member: "entities"] else {
      throw .interchange(place: "line 1", reason: "expected an object with a list “entities”")
    }
    if let other = members.first(where: { $0.name != "entities" }) {
      throw .interchange(place: other.name, reason: "expected nothing beside “entities”")
    }
    try requireUniqueNames(members, at: "line 1")
    var entities: [Entity] = []
    var places: [String: Int] = [:]
    for (position, element) in list.enumerated() {
      let entity = try entity(element, at: "entities[\(position)]")
      if let first = places.updateValue(position, forKey: entity.id) {
        throw .interchange(
          place: "entities[\(position)].identifier", reason: "“\(entity.id)” is that of entities[\(first)] too")
      }
      entities.append(entity)
    }
    return entities
  }

  private func entity(_ document: Document, at place: String) throws(EntityError) -> Entity {
    guard case .object(let members) = document else {
      throw .interchange(place: place, reason: "expected an object, not \(document.typeName)")
    }
    try requireUniqueNames(members, at: place)
    let type = try text(document[member: "type"], at: "\(place).type")
    guard !type.isEmpty else { throw .interchange(place: "\(place).type", reason: "the type is empty") }
    var id = UUID().uuidString
    if let written = document[member: "identifier"] {
      id = try text(written, at: "\(place).identifier")
      guard !id.isEmpty else { throw .interchange(place: "\(place).identifier", reason: "the identifier is empty") }
    }
    var created = now
    if let written = document[member: "datestamp"] { created = try date(written, at: "\(place).datestamp") }
    var entity = Entity(id, type: type, created: created)
    for member in members where !["type", "identifier", "datestamp"].contains(member.name) {
      let key = EntityKey(member.name)
      if key.isReserved { throw .interchange(place: place, reason: "a property without a name") }
      let events = try events(
        member.value, given: created, at: place + DocumentPath([.member(member.name)]).description)
      if let property = events[0].property {
        entity.set(key, property)
        if events.count > 1 { entity.past[key] = Array(events.dropFirst()) }
      } else {
        entity.past[key] = events
      }
    }
    return entity
  }

  /// The current value of a property, or its removal, and its earlier values.
  private func events(_ document: Document, given date: Date, at place: String) throws(EntityError) -> [EntityPast] {
    var events = [try event(document, given: date, at: place)]
    guard let history = document[member: "history"] else { return events }
    guard case .array(let older) = history else {
      throw .interchange(place: "\(place).history", reason: "expected a list, not \(history.typeName)")
    }
    for (position, element) in older.enumerated() {
      let place = "\(place).history[\(position)]"
      if element[member: "history"] != nil { throw .interchange(place: place, reason: "a history within a history") }
      events.append(try event(element, given: date, at: place))
    }
    return events
  }

  private func event(_ document: Document, given date: Date, at place: String) throws(EntityError) -> EntityPast {
    guard let removed = document[member: "removed"] else {
      return EntityPast(try property(document, given: date, at: place))
    }
    guard case .bool(true) = removed, case .object(let members) = document,
      members.allSatisfy({ ["removed", "datestamp", "history"].contains($0.name) })
    else { throw .interchange(place: place, reason: "what is removed has no value and no type") }
    guard let written = document[member: "datestamp"] else { return EntityPast(removed: date) }
    return EntityPast(removed: try self.date(written, at: "\(place).datestamp"))
  }

  private func property(_ document: Document, given date: Date, at place: String) throws(EntityError) -> EntityProperty
  {
    switch document {
    case .object(let members):
      try requireUniqueNames(members, at: place)
      let kinds = members.filter { !["type", "datestamp", "history"].contains($0.name) }
      guard let kind = kinds.first else { throw .interchange(place: place, reason: "the value is missing") }
      guard kinds.count == 1 else {
        throw .interchange(place: place, reason: "two values, “\(kind.name)” and “\(kinds[1].name)”")
      }
      var given = date
      if let written = document[member: "datestamp"] { given = try self.date(written, at: "\(place).datestamp") }
      let value = try value(kind.name, kind.value, given: given, at: "\(place).\(kind.name)")
      var label: String?
      if let written = document[member: "type"] { label = try text(written, at: "\(place).type") }
      return EntityProperty(value, label: label, date: given)
    case .string(let text): return EntityProperty(.string(text), date: date)
    case .bool(let truth): return EntityProperty(.boolean(truth), date: date)
    case .array: return EntityProperty(try value("list", document, given: date, at: place), date: date)
    case .number(let number):
      let kind = number.isInteger ? "integer" : "double"
      return EntityProperty(try value(kind, document, given: date, at: place), date: date)
    case .null, .date, .data: throw .interchange(place: place, reason: "\(document.typeName) is not a value")
    }
  }

  private func value(
    _ kind: String, _ document: Document, given date: Date, at place: String
  ) throws(EntityError) -> EntityValue {
    let expected: String
    switch kind {
    case "string": return .string(try text(document, at: place))
    case "entity": return .entity(try text(document, at: place))
    case "integer":
      if case .number(let number) = document, let integer = number.integer { return .integer(Int(integer)) }
      expected = "a whole number of 64 bits"
    case "double":
      if case .number(let number) = document, number.double.isFinite { return .double(number.double) }
      expected = "a finite number"
    case "boolean":
      if case .bool(let truth) = document { return .boolean(truth) }
      expected = "true or false"
    case "date": return .date(try self.date(document, at: place))
    case "data":
      if let bytes = Data(base64Encoded: try text(document, at: place)) { return .data(bytes) }
      expected = "base64"
    case "list":
      guard case .array(let elements) = document else {
        throw .interchange(place: place, reason: "expected a list, not \(document.typeName)")
      }
      var list: [EntityProperty] = []
      for (position, element) in elements.enumerated() {
        let place = "\(place)[\(position)]"
        if element[member: "history"] != nil {
          throw .interchange(place: place, reason: "the history of a list is that of the list, not of its elements")
        }
        list.append(try property(element, given: date, at: place))
      }
      return .list(list)
    default:
      throw .interchange(
        place: place,
        reason: "“\(kind)” is not a kind of value; there are string, integer, double, boolean, date, data, entity, list"
      )
    }
    throw .interchange(place: place, reason: "expected \(expected)")
  }

  private func text(_ document: Document?, at place: String) throws(EntityError) -> String {
    guard let document else { throw .interchange(place: place, reason: "it is missing") }
    guard case .string(let text) = document else {
      throw .interchange(place: place, reason: "expected a text, not \(document.typeName)")
    }
    return text
  }

  /// A date as text, or as `{"date": …}`.
  private func date(_ document: Document, at place: String) throws(EntityError) -> Date {
    if case .object(let members) = document, members.count == 1, members[0].name == "date" {
      return try date(members[0].value, at: "\(place).date")
    }
    let text = try text(document, at: place)
    guard let date = EntityDate(text) else {
      throw .interchange(place: place, reason: "“\(text)” is not a date; one is written 2020-01-21T10:00:00.000Z")
    }
    return date.date
  }

  private func requireUniqueNames(_ members: [Document.Member], at place: String) throws(EntityError) {
    var names: Set<String> = []
    for member in members where !names.insert(member.name).inserted {
      throw .interchange(place: place, reason: "“\(member.name)” is there twice")
    }
  }
}
