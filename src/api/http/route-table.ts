/** What is found at a path. */
export interface FoundRoute<Handler> {
  handler: Handler
  /** What the path says, by name, decoded. */
  params: Record<string, string>
}

interface Route<Handler> {
  method: string
  path: string
  segments: readonly string[]
  handler: Handler
}

/**
 * Handlers by method and path. A segment `{name}` of a path is a parameter, and stands for any that is not empty; paths without parameters
 * come first. A slash at the end makes no difference, upper and lower case do. GET answers HEAD.
 */
export class RouteTable<Handler> {
  readonly #plain = new Map<string, Route<Handler>[]>()
  /** By their number of segments. */
  readonly #withParameters = new Map<number, Route<Handler>[]>()

  add(method: string, path: string, handler: Handler): void {
    const segments = path.split('/')
    const route = { method, path, segments, handler }
    if (path.includes('{')) added(this.#withParameters, segments.length, route)
    else added(this.#plain, path, route)
  }

  /** Null if there is no such path, or not for this method. */
  find(method: string, path: string): FoundRoute<Handler> | null {
    const wanted = method === 'HEAD' ? 'GET' : method
    for (const { route, params } of this.#at(path)) if (route.method === wanted) return { handler: route.handler, params }
    return null
  }

  /** The methods for which there is this path. */
  methodsAt(path: string): string[] {
    const methods = Array.from(this.#at(path), ({ route: { method } }) => (method === 'GET' ? ['GET', 'HEAD'] : [method]))
    return [...new Set(methods.flat())].toSorted()
  }

  get routes(): Pick<Route<Handler>, 'method' | 'path'>[] {
    return [...this.#plain.values(), ...this.#withParameters.values()].flat()
  }

  *#at(given: string): Iterable<{ route: Route<Handler>; params: Record<string, string> }> {
    const path = given.endsWith('/') ? given.slice(0, -1) : given
    for (const route of this.#plain.get(path) ?? []) yield { route, params: {} }
    const segments = path.split('/')
    for (const route of this.#withParameters.get(segments.length) ?? []) {
      const params = paramsOf(route.segments, segments)
      if (params) yield { route, params }
    }
  }
}

function added<Key, Value>(lists: Map<Key, Value[]>, key: Key, value: Value): void {
  const list = lists.get(key)
  if (list) list.push(value)
  else lists.set(key, [value])
}

/** Null if it is another path. */
function paramsOf(declared: readonly string[], given: readonly string[]): Record<string, string> | null {
  if (!declared.every((segment, i) => (segment.startsWith('{') ? given[i] !== '' : segment === given[i]))) return null
  const names = declared.flatMap((segment, i) => (segment.startsWith('{') ? [[segment.slice(1, -1), decoded(given[i]!)]] : []))
  return Object.fromEntries(names) as Record<string, string>
}

/** What is not encoded as it should be stands for itself. */
function decoded(segment: string): string {
  try {
    return decodeURIComponent(segment)
  } catch {
    return segment
  }
}
