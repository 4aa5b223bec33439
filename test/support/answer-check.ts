import addFormats from 'ajv-formats'
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js'
import type { OpenApiDocument } from '../../src/api/http/openapi.ts'

type Json = Record<string, unknown>

export interface ReceivedAnswer {
  status: number
  headers: Headers
  text: string
}

/** Throws where an answer is not one that the document promises. */
export type AnswerCheck = (method: string, path: string, answer: ReceivedAnswer) => void

const pointer = (...keys: string[]): string =>
  keys.map((key) => encodeURIComponent(key.replaceAll('~', '~0').replaceAll('/', '~1'))).join('/')

/** Finds the path of the document that a request's path is an example of; a literal one before one with parameters. */
function pathsOf(document: OpenApiDocument): (path: string) => string | undefined {
  const literals = (template: string): string => template.replace(/\{\w+\}/g, '\uffff')
  const shapes = Object.keys(document.paths)
    .sort((a, b) => (literals(a) < literals(b) ? -1 : 1))
    .map((template) => ({ template, shape: new RegExp(`^${template.replace(/[.*]/g, '\\$&').replace(/\{\w+\}/g, '[^/]+')}$`) }))
  return (path) => {
    const plain = path
      .replace(/[?#].*$/s, '')
      .replace(/\/{2,}/g, '/')
      .replace(/(?<=.)\/$/, '')
    return shapes.find(({ shape }) => shape.test(plain))?.template
  }
}

/** The check for a document. Undeclared paths must be errors. */
export function answerCheck(document: OpenApiDocument): AnswerCheck {
  // To compile a check takes far longer than to run it: each schema once, and as it comes.
  const ajv = new Ajv2020({ strict: false, allErrors: true, inlineRefs: false, code: { optimize: false } })
  addFormats.default(ajv)
  ajv.addSchema(document as object, 'document')
  const compiled = new Map<string, ValidateFunction>()
  const validator = (place: string): ValidateFunction => {
    const known = compiled.get(place) ?? ajv.compile({ $ref: `document#/${place}` })
    compiled.set(place, known)
    return known
  }
  const pathFor = pathsOf(document)
  const responses = (document.components.responses ?? {}) as Record<string, Json>

  const schemaPlace = (template: string, method: string, status: number, mediaType: string): string | null => {
    const declared = document.paths[template]?.[method]?.responses as Record<string, Json> | undefined
    const response = declared?.[status] ?? declared?.[`${Math.floor(status / 100)}XX`]
    if (!response) throw new Error(`the status ${status} is not declared`)
    const name = typeof response.$ref === 'string' ? response.$ref.replace(/.*\//, '') : null
    const content = ((name === null ? response : responses[name])?.content ?? {}) as Record<string, Json>
    const declaredType = Object.keys(content).find((type) => type === mediaType || type === '*/*')
    if (declaredType === undefined && (mediaType !== '' || Object.keys(content).length > 0)) {
      throw new Error(`the type ${mediaType || '(none)'} is not declared, only ${Object.keys(content).join(', ') || 'an empty body'}`)
    }
    if (declaredType === undefined || !declaredType.includes('json')) return null
    return name === null
      ? pointer(
          'paths',
          template,
          method,
          'responses',
          declared?.[status] ? String(status) : `${Math.floor(status / 100)}XX`,
          'content',
          declaredType,
          'schema',
        )
      : pointer('components', 'responses', name, 'content', declaredType, 'schema')
  }

  const check: AnswerCheck = (given, path, { status, headers, text }) => {
    if (!headers.get('x-request-id')?.startsWith('req_')) throw new Error('X-Request-Id is missing')
    const template = pathFor(path)
    const method = given === 'HEAD' ? 'get' : given.toLowerCase()
    const mediaType = (headers.get('content-type') ?? '').replace(/;.*/s, '').trim()
    if (template === undefined || !document.paths[template]?.[method]) {
      if (![401, 404, 405, 429].includes(status)) throw new Error('there is no such endpoint in the document, yet it answers')
      // There the other service's form is answered.
      if (path.startsWith('/compat/')) return
      return validate(pointer('components', 'schemas', mediaType === 'application/problem+json' ? 'Problem' : 'Error'), text)
    }
    const place = schemaPlace(template, method, status, mediaType)
    if (place !== null && given !== 'HEAD') validate(place, text)
  }
  const validate = (place: string, text: string): void => {
    const isValid = validator(place)
    if (isValid(JSON.parse(text))) return
    const faults = (isValid.errors ?? []).map(
      ({ instancePath, message, params }) => `${instancePath || 'it'} ${message} ${JSON.stringify(params)}`,
    )
    throw new Error(`the body is not as declared: ${faults.join('; ')}: ${text.slice(0, 500)}`)
  }

  return (method, path, answer) => {
    try {
      check(method, path, answer)
    } catch (error) {
      const message = error instanceof Error ? error.message : String(error)
      throw new Error(`${method} ${path} answered ${answer.status}, but ${message}`, { cause: error })
    }
  }
}

/** What the first server of each kind serves, as making it takes longer than the rest of a start. */
const served = new Map<string, AnswerCheck>()

/** The check for the document that a server serves. Those of one `kind` serve the same. */
export async function servedAnswerCheck(url: string, kind: string): Promise<AnswerCheck> {
  const known = served.get(kind)
  if (known) return known
  const check = answerCheck((await fetch(`${url}/openapi.json`).then((answer) => answer.json())) as OpenApiDocument)
  served.set(kind, check)
  return check
}
