public import StrataFoundation

/// The value of a property of an entity.
public indirect enum EntityValue: Hashable, Sendable {
  /// A text.
  case string(String)
  /// A whole number.
  case integer(Int)
  /// A number with a fraction; neither infinite nor NaN.
  case double(Double)
  /// True or false.
  case boolean(Bool)
  /// A moment; exact, also before 1970.
  case date(Date)
  /// Bytes.
  case data(Data)
  /// Another entity, by its identifier, whether it exists or not.
  case entity(String)
  /// Several values, each with its own label and date.
  case list([EntityProperty])

  /// The name of the kind, as the interchange form writes it.
  public var kind: String {
    switch self {
    case .string: "string"
    case .integer: "integer"
    case .double: "double"
    case .boolean: "boolean"
    case .date: "date"
    case .data: "data"
    case .entity: "entity"
    case .list: "list"
    }
  }
}

extension EntityValue: ExpressibleByStringLiteral, ExpressibleByIntegerLiteral, ExpressibleByFloatLiteral,
  ExpressibleByBooleanLiteral
{
  /// A text.
  public init(stringLiteral value: String) { self = .string(value) }
  /// A whole number.
  public init(integerLiteral value: Int) { self = .integer(value) }
  /// A number.
  public init(floatLiteral value: Double) { self = .double(value) }
  /// True or false.
  public init(booleanLiteral value: Bool) { self = .boolean(value) }
}

/// A value with its meaning and the date when it was given.
public struct EntityProperty: Hashable, Sendable {
  /// The value.
  public var value: EntityValue
  /// The meaning of the value, such as `work` for an address; by default the name of its kind.
  public var label: String
  /// When it was given.
  public var date: Date

  /// Makes a property.
  ///
  /// - Parameters:
  ///   - value: The value.
  ///   - label: Its meaning; nil for the name of its kind.
  ///   - date: When it was given; now by default.
  public init(_ value: EntityValue, label: String? = nil, date: Date = .now) {
    self.value = value
    self.label = label ?? value.kind
    self.date = date
  }

  /// Whether both have the same label and value, whatever their dates.
  func saysTheSame(as other: Self) -> Bool {
    guard label == other.label else { return false }
    guard case .list(let elements) = value, case .list(let others) = other.value else { return value == other.value }
    return elements.count == others.count && zip(elements, others).allSatisfy { $0.saysTheSame(as: $1) }
  }
}

/// An earlier value of a property, or its removal.
public struct EntityPast: Hashable, Sendable {
  /// The value; nil if the property was removed.
  public var property: EntityProperty?
  /// When it was given, or removed.
  public var date: Date

  /// Notes a value that the property had.
  public init(_ property: EntityProperty) {
    self.property = property
    date = property.date
  }

  /// Notes that the property was removed.
  public init(removed date: Date) { self.date = date }
}

/// A Swift type that a property can be read as and written from.
public protocol EntityRepresentable {
  /// Reads a value of the kinds that this type takes; nil for others.
  init?(_ value: EntityValue)
  /// The value as an entity holds it.
  var entityValue: EntityValue { get }
}

extension String: EntityRepresentable {
  /// Reads a text, or the identifier of another entity.
  public init?(_ value: EntityValue) {
    switch value {
    case .string(let text), .entity(let text): self = text
    default: return nil
    }
  }

  /// A text.
  public var entityValue: EntityValue { .string(self) }
}

extension Int: EntityRepresentable {
  /// Reads a whole number.
  public init?(_ value: EntityValue) {
    guard case .integer(let number) = value else { return nil }
    self = number
  }

  /// A whole number.
  public var entityValue: EntityValue { .integer(self) }
}

extension Double: EntityRepresentable {
  /// Reads a number, whole or not.
  public init?(_ value: EntityValue) {
    switch value {
    case .double(let number): self = number
    case .integer(let number): self.init(number)
    default: return nil
    }
  }

  /// A number.
  public var entityValue: EntityValue { .double(self) }
}

extension Bool: EntityRepresentable {
  /// Reads true or false.
  public init?(_ value: EntityValue) {
    guard case .boolean(let truth) = value else { return nil }
    self = truth
  }

  /// True or false.
  public var entityValue: EntityValue { .boolean(self) }
}

extension Date: EntityRepresentable {
  /// Reads a moment.
  public init?(_ value: EntityValue) {
    guard case .date(let date) = value else { return nil }
    self = date
  }

  /// A moment.
  public var entityValue: EntityValue { .date(self) }
}

extension Data: EntityRepresentable {
  /// Reads bytes.
  public init?(_ value: EntityValue) {
    guard case .data(let bytes) = value else { return nil }
    self = bytes
  }

  /// Bytes.
  public var entityValue: EntityValue { .data(self) }
}

extension Array: EntityRepresentable where Element: EntityRepresentable {
  /// Reads a list whose elements are all of one type; any other value counts as a list of one.
  public init?(_ value: EntityValue) {
    guard case .list(let elements) = value else {
      guard let element = Element(value) else { return nil }
      self = [element]
      return
    }
    self = []
    for property in elements {
      guard let element = Element(property.value) else { return nil }
      append(element)
    }
  }

  /// A list.
  public var entityValue: EntityValue { .list(map { EntityProperty($0.entityValue) }) }
}
