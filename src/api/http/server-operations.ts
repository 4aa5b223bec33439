import { z } from 'zod'
import { errorNames, errorTable } from '../../platform/error-table.ts'
import { SternaError } from '../../platform/errors.ts'
import type { Health } from '../../platform/health.ts'
import { catalogueTable } from './openapi-problem.ts'
import { openApiDocument, type DocumentContext } from './openapi.ts'
import type { Operation } from '../operation/operation.ts'
import { operationsAt } from '../operation/operations-at.ts'
import { titleOf } from '../operation/problem.ts'
import { RawAnswer } from '../operation/raw-answer.ts'
import { referenceFile, referencePage } from './reference-page.ts'
import { staticFile, type StaticFile } from './static-file.ts'

/** What the server's own endpoints need; `version` is that of this program. */
export interface ServerOperationServices extends DocumentContext {
  /** What is wrong now. */
  health: Pick<Health, 'faults' | 'isServing'>
  /** Whether the OpenAPI document and the reference page are served. */
  docs: boolean
}

/** The endpoints about the server itself, without a key; `operations` are all that its document describes. */
export function serverOperations(services: ServerOperationServices, operations: () => readonly Operation[]): Operation[] {
  return [healthOperation(services), errorOperation(), ...(services.docs ? documentOperations(services, operations) : [])]
}

const at = operationsAt({ path: '', tag: 'Server', permission: null })
const unchanged = { status: 304, description: "The client's copy is still current.", schema: null } as const
const documentSchema = z.looseObject({ openapi: z.string() }).describe('An OpenAPI document.')
const faultSchema = z.object({ name: z.string(), message: z.string(), since: z.iso.datetime() })
const healthSchema = z
  .object({ status: z.enum(['ok', 'unavailable']), version: z.string(), faults: z.array(faultSchema) })
  .meta({ id: 'Health' })

const healthOperation = ({ health, version }: ServerOperationServices): Operation =>
  at.get('server.get_health', '/healthz', 'Check whether mail is accepted and delivered', {
    answer: ['Mail is accepted and delivered. `faults` has what else is wrong.', healthSchema],
    otherAnswers: [
      { status: 503, description: '`faults` says what keeps mail from being accepted or delivered, and what to do.', schema: healthSchema },
    ],
    handle: () => {
      const { faults, isServing } = health
      return new RawAnswer({ status: isServing ? 'ok' : 'unavailable', version, faults }, { status: isServing ? 200 : 503 })
    },
  })

const errorOperation = (): Operation =>
  at.get('server.explain_error', '/errors/{name}', 'Explain an error', {
    description: `Where the \`type\` of an RFC 9457 answer leads.\n\n${catalogueTable()}`,
    answer: ['What the error means and what to do.', 'text/plain'],
    otherAnswers: [unchanged],
    refuses: ['not_found'],
    handle: ({ params }) => {
      const name = errorNames.find((known) => known === params.name)
      if (name === undefined) throw new SternaError('not_found', 'There is no error with this name.')
      const { status, meaning, remedy } = errorTable[name]
      return answerOf(staticFile('text/plain; charset=utf-8', `${name}\n${status} ${titleOf[status]}\n\n${meaning}\n\n${remedy}\n`))
    },
  })

const answerOf = ({ type, content, etag }: StaticFile): RawAnswer => new RawAnswer(content, { type, etag })

function documentOperations(services: ServerOperationServices, operations: () => readonly Operation[]): Operation[] {
  let made: StaticFile | null = null
  const document = (): StaticFile =>
    (made ??= staticFile('application/json; charset=utf-8', JSON.stringify(openApiDocument(operations(), services))))
  return [
    at.get('server.get_openapi', '/openapi.json', 'Read this document', {
      answer: ['OpenAPI 3.1.', documentSchema],
      otherAnswers: [unchanged],
      handle: () => answerOf(document()),
    }),
    at.get('server.show_docs', '/docs', 'Show the API reference', {
      answer: ['A page for people.', 'text/html'],
      otherAnswers: [unchanged],
      handle: ({ path, reply }) => answerOf(referencePage(path, reply)),
    }),
    at.get('server.get_docs_file', '/docs/{file}', 'Read a file of that page', {
      answer: ['A script, a style sheet or an image.', '*/*'],
      otherAnswers: [unchanged],
      refuses: ['not_found'],
      handle: ({ params }) => {
        const file = referenceFile(params.file)
        if (!file) throw new SternaError('not_found', 'The page has no file with this name.')
        return answerOf(file)
      },
    }),
  ]
}
