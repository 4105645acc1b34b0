import StrataSystem

/// The place of the sample's files beside an installed or a freshly built program.
public enum AtlasResources {
  /// The folder with `cities.jsonl` and `countries.jsonl`, or nil if neither an installation nor a checkout is found around the running
  /// program.
  public static func folder() -> String? {
    guard var place = programFolder() else { return nil }
    if isFolderOfResources(place + "/../share/strata") { return place + "/../share/strata" }
    while !place.isEmpty {
      let candidate = place + "/Sources/StrataAtlas/Resources"
      if isFolderOfResources(candidate) { return candidate }
      place = String(place[..<(place.lastIndex(of: "/") ?? place.startIndex)])
    }
    return nil
  }

  private static func isFolderOfResources(_ path: String) -> Bool {
    access(path + "/cities.jsonl", R_OK) == 0 && access(path + "/countries.jsonl", R_OK) == 0
  }

  /// The folder of the running program, with links resolved.
  private static func programFolder() -> String? {
    #if canImport(Darwin)
      let name = CommandLine.arguments.first ?? ""
    #else
      let name = "/proc/self/exe"
    #endif
    guard let resolved = realpath(name, nil) else { return nil }
    defer { free(resolved) }
    let path = String(cString: resolved)
    return path.lastIndex(of: "/").map { String(path[..<$0]) }
  }
}
