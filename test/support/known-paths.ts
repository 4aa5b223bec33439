import type { OpenApiDocument } from '../../src/api/http/openapi.ts'

type Parameters = Record<string, string>

/** A path of the document up to a parameter, such as `/api/emails/{id}`, and what finds its parameters in a real path. */
interface Place {
  place: string
  /** Of the last parameter. */
  name: string
  pattern: RegExp
}

/** As many of each as are remembered: the youngest. */
const most = 50
const anyId = /"id":"([^"]+)"/g
const link = /(?:https?:\/\/[^/"\s]+\/|(?:href|src)=\\?"\/?)([\w.~-]+\/[\w./~-]+)/g

/** What paths lead to something, as far as the answers told: ids that belong together, and links. */
export class KnownPaths {
  readonly #places: Place[]
  readonly #found = new Map<string, Parameters[]>()
  readonly #ids: string[] = []
  readonly #kept: Set<string>

  /** `kept` are those whose removal would end the run; nothing asks for them. */
  constructor(document: OpenApiDocument, kept: string[]) {
    const places = Object.keys(document.paths).flatMap((template) =>
      Array.from(template.matchAll(/\{(\w+)\}/g), ({ index, 0: parameter }) => template.slice(0, index + parameter.length)),
    )
    this.#places = [...new Set(places)].map((place) => ({
      place,
      name: /\{(\w+)\}$/.exec(place)?.[1] ?? '',
      pattern: new RegExp(`^${place.replaceAll('.', '\\.').replace(/\{(\w+)\}/g, '(?<$1>[^/]+)')}$`),
    }))
    this.#kept = new Set(kept)
  }

  /** From now on nothing asks for this one. */
  keep(id: string): void {
    this.#kept.add(id)
  }

  /** Parameters of something that there is. */
  add(place: string, parameters: Parameters): void {
    this.#found.set(place, [...(this.#found.get(place) ?? []).slice(1 - most), parameters])
  }

  /** From an answer to a request that was made at this path of the document with these parameters. */
  learn(text: string, { ok, template, parameters }: { ok: boolean; template: string; parameters: Parameters }): void {
    for (const [, path = ''] of text.matchAll(link)) this.addPath(`/${path}`)
    if (!ok) return
    for (const [, id = ''] of text.matchAll(anyId)) if (!this.#kept.has(id)) this.#ids.push(id)
    this.#ids.splice(0, Math.max(0, this.#ids.length - 500))
    const below = this.#places.find(({ place, name }) => place === `${template}/{${name}}`)
    if (!below || !text.startsWith('{')) return
    const answer = JSON.parse(text) as { data?: unknown } & Record<string, unknown>
    const objects = Array.isArray(answer.data) ? (answer.data as Record<string, unknown>[]) : [answer]
    // Some are found by their name, alias or address too.
    const keys = ['id', /^idOr(\w+)$/.exec(below.name)?.[1]?.toLowerCase() ?? 'id']
    for (const object of objects) {
      const values = new Set(keys.map((key) => object[key]).filter((value) => typeof value === 'string'))
      for (const value of values) if (!this.#kept.has(value)) this.add(below.place, { ...parameters, [below.name]: value })
    }
  }

  /** A path of something that there is. */
  addPath(path: string): void {
    for (const { place, name, pattern } of this.#places) {
      const groups = pattern.exec(path)?.groups
      if (groups && !this.#kept.has(groups[name] ?? '')) this.add(place, { ...groups })
    }
  }

  /** Parameters that belong together, for as much of the template as they are known for. */
  parametersFor(template: string, number: number): Parameters {
    const places = this.#places
      .filter(({ place }) => template === place || template.startsWith(`${place}/`))
      .toSorted((a, b) => b.place.length - a.place.length)
    const known = places.map(({ place }) => this.#found.get(place)).find((found) => found !== undefined) ?? []
    return known[number % Math.max(known.length, 1)] ?? {}
  }

  /** An id of anything. */
  anyId(number: number): string {
    return this.#ids[number % Math.max(this.#ids.length, 1)] ?? 'em_01kahk3yq4x8v5t2n7m9b6c1d0'
  }
}
