import fc from 'fast-check'
import type { OpenApiDocument } from '../../src/api/http/openapi.ts'
import { compatBodies } from './compat-bodies.ts'
import { contentTypeOf } from './encoded-body.ts'
import { hostileValue, mutated } from './hostile-value.ts'
import { fromSchema, knownId, overlaid } from './schema-arbitrary.ts'
import { anyCharacter } from './any-character.ts'

type Json = Record<string, unknown>

export interface GeneratedRequest {
  method: string
  template: string
  /** A mark, unless it is something awkward. */
  parameters: Record<string, string>
  query: [string, string][]
  /** Says whose key it brings. */
  token: number
  /** percent; below the share of what can be made for this request it is made, and the request is about that. */
  luck: number
  headers: Record<string, string>
  mediaType: string
  /** JSON with marks; undefined where none is sent. */
  body: string | undefined
}

const awkwardText = fc.oneof(
  fc.constantFrom(
    '%00',
    '..',
    '.',
    'x'.repeat(3000),
    "'",
    '*',
    'constructor',
    '%ff',
    'a/b',
    '?',
    '#',
    'EM_0',
    'em_01kahk3yq4x8v5t2n7m9b6c1d0',
  ),
  fc.string({ unit: anyCharacter, maxLength: 40 }),
)
const orAwkward = (usual: fc.Arbitrary<string>): fc.Arbitrary<string> =>
  fc.oneof({ weight: 6, arbitrary: usual }, { weight: 1, arbitrary: awkwardText })
const someId = orAwkward(knownId)
/** Dots alone would make it another path (RFC 3986 5.2.4). */
const pathSegment = someId.filter((text) => !/^\.\.?$/.test(text))

const headersFor = (mediaType: string): fc.Arbitrary<Record<string, string>> =>
  fc.record(
    {
      'content-type': fc.oneof(
        { weight: 30, arbitrary: fc.constant(contentTypeOf(mediaType)) },
        { weight: 1, arbitrary: fc.constantFrom('text/plain', 'application/xml', '') },
      ),
      'x-forwarded-for': fc.oneof(
        { weight: 12, arbitrary: fc.ipV4() },
        { weight: 1, arbitrary: fc.ipV6() },
        { weight: 1, arbitrary: awkwardText },
      ),
      accept: fc.constantFrom('application/json', 'application/problem+json', '*/*', 'text/html'),
      'idempotency-key': fc.oneof(
        { weight: 6, arbitrary: fc.uuid() },
        { weight: 1, arbitrary: fc.constantFrom('a', 'b', '', 'x'.repeat(257), 'é') },
      ),
      prefer: fc.constantFrom('handling=strict', 'handling=lenient'),
      'x-batch-validation': fc.constantFrom('strict', 'permissive', 'no'),
      'last-event-id': fc.oneof(fc.constant('<own event>'), someId),
    },
    { requiredKeys: ['content-type', 'x-forwarded-for'] },
  )

function bodiesOf(schema: Json | undefined, example: unknown, root: Json): fc.Arbitrary<string | undefined> {
  const generated = schema ? fromSchema(schema, root) : fc.constant({})
  const shown =
    example === undefined
      ? generated
      : fc.oneof(
          { weight: 1, arbitrary: generated },
          { weight: 2, arbitrary: fc.constant(example) },
          { weight: 2, arbitrary: overlaid(example, generated) },
        )
  const text = (value: unknown): string => JSON.stringify(value)
  return fc.oneof(
    { weight: 6, arbitrary: shown.map(text) },
    { weight: 3, arbitrary: mutated(shown).map(text) },
    {
      weight: 1,
      arbitrary: fc.oneof(
        hostileValue.map(text),
        fc.constantFrom(undefined, '', '{', '[1,', '{"a":1,"a":2}', '{"subject":1e309}', '\ufeff{}', '['.repeat(10_000)),
      ),
    },
  )
}

/** What an endpoint wants one of, which the document cannot demand. */
const oneOf: Record<string, string> = { '/api/analytics/links': 'template_id' }

/** Requests to one endpoint: most of them as the document has it, the others not. */
export function requestsTo(document: OpenApiDocument, template: string, method: string): fc.Arbitrary<GeneratedRequest> {
  const root = document as unknown as Json
  const declared = document.paths[template]![method]!
  const parameters = (declared.parameters ?? []) as { name: string; in: string; required: boolean; schema: Json }[]
  const inPath = parameters.filter((parameter) => parameter.in === 'path')
  const inQuery = parameters.filter((parameter) => parameter.in === 'query')
  const content = (declared.requestBody as { content?: Record<string, { schema: Json; example?: unknown }> } | undefined)?.content ?? {}
  const [mediaType = 'application/json', given] = Object.entries(content)[0] ?? []
  const { schema, example } = compatBodies[template] ?? given ?? { schema: undefined, example: undefined }
  const names = inQuery.map(({ name }) => name)
  const demanded = inQuery.filter(({ name, required }) => required || oneOf[template] === name).map(({ name }) => name)
  return fc.record({
    method: fc.constant(method.toUpperCase()),
    template: fc.constant(template),
    parameters: fc.record(Object.fromEntries(inPath.map(({ name }) => [name, pathSegment]))),
    query: fc
      .tuple(
        fc.oneof(fc.constant(demanded), fc.subarray(names, { maxLength: Math.min(3, names.length) })),
        fc.record(Object.fromEntries(inQuery.map(({ name, schema: own }) => [name, orAwkward(fromSchema(own, root, name).map(String))]))),
      )
      .map(([chosen, values]) => chosen.map((name): [string, string] => [name, (values as Record<string, string>)[name] ?? ''])),
    token: fc.nat({ max: 19 }),
    luck: fc.nat({ max: 99 }),
    headers: headersFor(mediaType),
    mediaType: fc.constant(mediaType),
    body: method === 'get' ? fc.constant(undefined) : bodiesOf(schema, example, root),
  })
}
