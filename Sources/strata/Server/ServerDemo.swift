import StrataAtlas
import CodableDatastore
import StrataModel
import StoreBrowser
#if PostgreSQL
  import PostgresPersistence
#endif

extension Program {
  /// The app `Atlas` on a server: written as its version 1 where the schema is empty, and warmed up before the person's eyes.
  @MainActor static func demoOnServer(_ url: String, _ arguments: VerbArguments) async throws -> Int32 {
    #if PostgreSQL
      if arguments.has("--entities") {
        throw UsageError("--entities does not go with a server: copy the sample there", verb: arguments.verb)
      }
      if arguments.has("--again") {
        throw UsageError("--again does not go with a server: name another schema, ?schema=NAME", verb: arguments.verb)
      }
      let shown = shownLocation(url)
      let keys = try openServer(url, readOnly: false, creates: true).head.datastoreKeys
      guard Set(keys).isSubset(of: [CityFormat.defaultKey.rawValue, CountryFormat.defaultKey.rawValue]) else {
        throw ModelError.refused(reason: "\(shown) is not a sample store (it has \(keys.joined(separator: ", ")))")
      }
      if keys.isEmpty {
        complain("writing the sample store \(shown)")
        try await installedSample(arguments.value("--cities")).write(to: PostgresPersistence(readWriteURL: url))
      } else if arguments.has("--cities") {
        throw UsageError("\(shown) is written already", verb: arguments.verb)
      }
      return try await showSample(url, arguments) { try PostgresPersistence(lazily: url) }
    #else
      throw ModelError.refused(reason: "this program was built without PostgreSQL")
    #endif
  }
}
