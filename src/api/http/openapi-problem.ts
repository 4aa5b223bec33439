import { z } from 'zod'
import { errorNames, errorTable } from '../../platform/error-table.ts'
import type { ErrorCode } from '../../platform/errors.ts'
import { headerReferences, rateLimitHeaders } from './openapi-headers.ts'
import type { JsonSchema, SchemaComponents } from './openapi-schema.ts'
import { titleOf } from '../operation/problem.ts'

const fault = z
  .object({
    field: z.string().describe('A path such as `to.0`; in a batch it starts with the position of the email.'),
    code: z.string(),
    message: z.string(),
    help: z.string().nullable(),
  })
  .meta({ id: 'Fault' })

const name = z.enum(errorNames).meta({ id: 'ErrorName', description: 'Branch on this. The message may change, the name does not.' })

const errorSchema = z
  .object({
    statusCode: z.int(),
    name,
    message: z.string(),
    errors: z.array(fault).optional().describe('Only if fields are invalid.'),
    request_id: z.string(),
  })
  .meta({ id: 'Error' })

const problemSchema = z
  .object({
    type: z.url().describe('Links to the documentation of the error.'),
    title: z.string(),
    status: z.int(),
    detail: z.string().describe('The same as `message`.'),
    instance: z.string().describe('The same as `request_id`.'),
    ...errorSchema.shape,
  })
  .meta({ id: 'Problem', description: 'RFC 9457, for clients that send `Accept: application/problem+json`.' })

/** The responses for errors, by status; each set of names is a component of its own. */
export class ProblemResponses {
  /** By name, for `components.responses`. */
  readonly responses: Record<string, JsonSchema> = {}
  /** The errors that a response is for. */
  readonly names = new Set<ErrorCode>()
  readonly #keys = new Map<string, string>()
  readonly #error: JsonSchema
  readonly #problem: JsonSchema

  constructor(components: SchemaComponents) {
    this.#error = components.add(errorSchema, 'output')
    this.#problem = components.add(problemSchema, 'output')
  }

  /** References by status. */
  of(names: readonly ErrorCode[], carriesKey: boolean): Record<string, JsonSchema> {
    const byStatus = Map.groupBy(
      names.filter((found) => found !== 'configuration'),
      (found) => errorTable[found].status,
    )
    return Object.fromEntries(
      [...byStatus]
        .sort(([a], [b]) => a - b)
        .map(([status, found]) => [String(status), this.#reference(status, found.toSorted(), carriesKey)]),
    )
  }

  /** The schema that a reference points to. */
  at({ $ref }: JsonSchema): JsonSchema {
    return this.responses[String($ref).replace(/.*\//, '')] ?? {}
  }

  #reference(status: number, names: ErrorCode[], carriesKey: boolean): JsonSchema {
    const text = [carriesKey, ...names].join()
    const key = this.#keys.get(text) ?? this.#freeKey((titleOf[status] ?? `Status${status}`).replaceAll(' ', ''))
    if (!this.#keys.has(text)) this.responses[key] = this.#response(status, names, carriesKey)
    this.#keys.set(text, key)
    return { $ref: `#/components/responses/${key}` }
  }

  #freeKey(key: string): string {
    if (!(key in this.responses)) return key
    let number = 2
    while (`${key}${number}` in this.responses) number++
    return `${key}${number}`
  }

  #response(status: number, names: ErrorCode[], carriesKey: boolean): JsonSchema {
    for (const found of names) this.names.add(found)
    const named = { type: 'object', properties: { name: { enum: names } } }
    return {
      description: names.map((found) => `\`${found}\`: ${errorTable[found].meaning}`).join('\n\n'),
      headers: headerReferences([...(carriesKey && status !== 401 ? rateLimitHeaders : []), ...(headersAt[status] ?? [])]),
      content: {
        'application/json': {
          schema: { allOf: [this.#error, named] },
          examples: Object.fromEntries(names.map((found) => [found, { $ref: `#/components/examples/${found}` }])),
        },
        'application/problem+json': { schema: { allOf: [this.#problem, named] } },
      },
    }
  }
}

const headersAt: Record<number, ('WWW-Authenticate' | 'Retry-After')[]> = {
  401: ['WWW-Authenticate'],
  429: ['Retry-After'],
  503: ['Retry-After'],
}

/** An answer for each of these errors, as they belong under `components.examples`. */
export const errorExamples = (names: ReadonlySet<ErrorCode>): Record<string, JsonSchema> =>
  Object.fromEntries(
    errorNames
      .filter((found) => names.has(found))
      .map((found) => [
        found,
        {
          summary: errorTable[found].meaning,
          value: {
            statusCode: errorTable[found].status,
            name: found,
            message: errorTable[found].meaning,
            request_id: 'req_01kahk3yq4x8v5t2n7m9b6c1d0',
          },
        },
      ]),
  )

/** The error table as Markdown. */
export const catalogueTable = (): string =>
  [
    '| name | status | meaning | what to do |',
    '|---|---|---|---|',
    ...errorNames.map(
      (found) => `| \`${found}\` | ${errorTable[found].status} | ${errorTable[found].meaning} | ${errorTable[found].remedy} |`,
    ),
  ].join('\n')
