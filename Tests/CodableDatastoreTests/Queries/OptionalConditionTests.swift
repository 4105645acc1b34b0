import CodableDatastore
import Foundation
import Testing

@Suite("Conditions on optionals, by the indexes of their parts")
struct OptionalConditionTests {
  struct Screen: Codable, Hashable, Sendable {
    var width: Int
    var maker: String?
    var panel: Panel?
  }
  struct Panel: Codable, Hashable, Sendable { var layers: Int }

  struct Device: Codable, Hashable, Identifiable, Sendable {
    var id: Int
    var system: String?
    var screen: Screen?
    var isOpen: Bool?
    var count: Int
  }

  struct DeviceFormat: DatastoreFormat {
    enum Version: Int, CaseIterable { case one = 1 }
    typealias Instance = Device
    static let defaultKey: DatastoreKey = "Devices"
    static let currentVersion = Version.one
    let system = Index(\.system, folding: .caseAndDiacritics)
    let width = Index(\.screen?.width)
    let layers = Index(\.screen?.panel?.layers)
    let openCount = Index(\.isOpen, \.count)
    let widthOpen = Index(\.screen?.width, \.isOpen)
  }

  /// Has only an index on a part that may be nil itself.
  struct MakerFormat: DatastoreFormat {
    typealias Version = DeviceFormat.Version
    typealias Instance = Device
    static let defaultKey: DatastoreKey = "Devices"
    static let currentVersion = Version.one
    let maker = Index(\.screen?.maker)
  }

  private let all: [Device] = (0..<60).map { number in
    Device(
      id: number, system: number % 7 == 0 ? nil : ["Linux", "LÍNUX", "mac", ""][number % 4],
      screen: number % 3 == 0
        ? nil
        : Screen(
          width: number, maker: number % 4 == 0 ? nil : "m\(number)",
          panel: number % 5 == 0 ? nil : Panel(layers: number)),
      isOpen: [nil, true, false][number % 3], count: number)
  }

  private func expect<Format: DatastoreFormat>(
    _ predicate: Predicate<Device>, in devices: Datastore<Format, ReadWrite>, keeps: Bool = false,
    sourceLocation: SourceLocation = #_sourceLocation
  ) async throws where Format.Instance == Device {
    let query = devices.load(where: predicate)
    let plan = try await query.explain()
    let expected = try all.filter { try predicate.evaluate($0) }
    #expect(!expected.isEmpty && expected.count < all.count, sourceLocation: sourceLocation)
    #expect(!plan.contains("SCAN") && plan.contains("KEEP") == keeps, "\(plan)", sourceLocation: sourceLocation)
    #expect(try await query.all() == expected, "\(plan)", sourceLocation: sourceLocation)
    #expect(try await query.count == expected.count, "\(plan)", sourceLocation: sourceLocation)
  }

  @Test("a folded text with another in place of nil is served by the folding index")
  func folded() async throws {
    let devices = MemoryPersistence().datastore(DeviceFormat.self)
    try await devices.persist(contentsOf: all)
    let (linux, both) = ("linux".folded, ["LINUX".folded, "".folded])
    try await expect(#Predicate { ($0.system ?? "").folded == linux }, in: devices)
    try await expect(#Predicate { ($0.system ?? "").folded == "" }, in: devices)
    try await expect(#Predicate { ($0.system ?? "mac").folded != linux }, in: devices)
    try await expect(#Predicate { both.contains(($0.system ?? "").folded) }, in: devices)
    try await expect(#Predicate { ($0.system ?? "").folded.starts(with: "li") }, in: devices, keeps: true)
    try await expect(#Predicate { $0.system == nil }, in: devices)
    try await expect(#Predicate { $0.system != nil && $0.screen != nil }, in: devices)
  }

  @Test("whether an optional is nil is served by an index on a property within it")
  func chains() async throws {
    let devices = MemoryPersistence().datastore(DeviceFormat.self)
    try await devices.persist(contentsOf: all)
    try await expect(#Predicate { $0.screen == nil }, in: devices)
    try await expect(#Predicate { $0.screen != nil }, in: devices)
    try await expect(#Predicate { $0.screen?.panel == nil }, in: devices)
    try await expect(#Predicate { $0.screen?.panel != nil }, in: devices)
    try await expect(#Predicate { if let screen = $0.screen { screen.panel == nil } else { false } }, in: devices)
    try await expect(#Predicate { if let screen = $0.screen { screen.panel == nil } else { true } }, in: devices)
    try await expect(#Predicate { if let screen = $0.screen { screen.panel != nil } else { false } }, in: devices)
    try await expect(#Predicate { $0.screen.flatMap { screen in screen.panel == nil } == false }, in: devices)
    try await expect(#Predicate { if let screen = $0.screen { screen.width > 20 } else { true } }, in: devices)
    let other = Screen(width: 4)
    try await expect(#Predicate { ($0.screen ?? other).width == 4 }, in: devices)
    try await expect(#Predicate { $0.screen == nil || ($0.system ?? "").folded == "linux" }, in: devices)
  }

  @Test("an index on a part that may be nil itself does not answer whether the whole is nil")
  func optionalParts() async throws {
    let devices = MemoryPersistence().datastore(MakerFormat.self)
    try await devices.persist(contentsOf: all)
    let other = Screen(width: 1, maker: "m4")
    for predicate in [
      #Predicate<Device> { $0.screen == nil }, #Predicate { $0.screen != nil },
      #Predicate { ($0.screen ?? other).maker == "m4" },
    ] {
      let query = devices.load(where: predicate)
      await #expect(throws: UnindexedQueryError.self) { try await query.all() }
      #expect(try await query.scanning().all() == all.filter { try predicate.evaluate($0) })
    }
  }

  @Test("a Boolean that may be nil is a tier before and behind another")
  func tiers() async throws {
    let devices = MemoryPersistence().datastore(DeviceFormat.self)
    try await devices.persist(contentsOf: all)
    try await expect(#Predicate { $0.isOpen == true && $0.count > 20 }, in: devices)
    try await expect(#Predicate { $0.isOpen == nil && $0.count > 20 }, in: devices)
    try await expect(#Predicate { ($0.isOpen ?? false) && $0.count > 20 }, in: devices)
    try await expect(#Predicate { !($0.isOpen ?? true) && $0.count > 20 }, in: devices)
    try await expect(#Predicate { $0.screen?.width == 4 && $0.isOpen == true }, in: devices)
    let open = all.filter { $0.isOpen == true && $0.count >= 20 }
    #expect(try await devices.load(prefix: true, range: 20..., from: \.openCount).all() == open)
    let unknown = all.filter { $0.isOpen == nil && $0.count >= 20 }
    #expect(try await devices.load(prefix: nil, range: 20..., from: \.openCount).all() == unknown)
  }

  @Test("the error names a declaration for a later tier, and none that does not compile")
  func advice() async throws {
    let devices = MemoryPersistence().datastore(DeviceFormat.self)
    let count = await #expect(throws: UnindexedQueryError.self) {
      try await devices.load(where: #Predicate { $0.count == 3 }).all()
    }
    #expect(count?.errorDescription?.contains("declare let count = Index(\\.count) in its format") == true)
    let makers = MemoryPersistence().datastore(MakerFormat.self)
    let panel = await #expect(throws: UnindexedQueryError.self) {
      try await makers.load(where: #Predicate { $0.screen?.panel == nil }).all()
    }
    #expect(panel?.errorDescription?.contains("declare") == false)
    let folded = await #expect(throws: UnindexedQueryError.self) {
      try await makers.load(where: #Predicate { ($0.system ?? "").folded == "mac" }).all()
    }
    #expect(
      folded?.errorDescription?.contains(
        "“system?.folded ?? \"\" == \"mac\"”: declare let folded = Index(\\.system?.folded)")
        == true)
  }

  struct Sheet: Codable, Hashable, Identifiable, Sendable {
    struct Fold: Codable, Hashable, Sendable { var folded: String? }
    var id: Int
    var fold: Fold?
  }

  struct SheetFormat: DatastoreFormat {
    enum Version: Int, CaseIterable { case one = 1 }
    typealias Instance = Sheet
    static let defaultKey: DatastoreKey = "Sheets"
    static let currentVersion = Version.one
    let folded = Index(\.fold?.folded)
  }

  @Test("a part that may be nil itself does not tell whether the whole is nil, also if it is called folded")
  func partCalledFolded() async throws {
    let sheets = MemoryPersistence().datastore(SheetFormat.self)
    try await sheets.persist(contentsOf: [
      Sheet(id: 1), Sheet(id: 2, fold: .init()), Sheet(id: 3, fold: .init(folded: "a")),
    ])
    #expect(try await sheets.load(where: #Predicate { $0.fold == nil }).scanning().all().map(\.id) == [1])
    #expect(try await sheets.load(where: #Predicate { $0.fold != nil }).scanning().all().map(\.id) == [2, 3])
  }
}
