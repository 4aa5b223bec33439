import { compatOperationId, type CompatAction, type CompatApi, type CompatRoute } from './compat/compat-api.ts'
import { bodyLimit } from '../operation/body-limits.ts'
import { headerReferences } from './openapi-headers.ts'
import { bodyLimitText } from './openapi-operation.ts'
import type { JsonSchema } from './openapi-schema.ts'

const descriptions: Record<string, string> = { domain: 'The domain to send from, verified for the account.' }

/** The parameters that a path has in braces. */
const parametersOf = (path: string): { parameters?: JsonSchema[] } => {
  const names = Array.from(path.matchAll(/\{(\w+)\}/g), ([, name = '']) => name)
  if (names.length === 0) return {}
  return {
    parameters: names.map((name) => ({
      name,
      in: 'path',
      required: true,
      ...(descriptions[name] ? { description: descriptions[name] } : {}),
      schema: { type: 'string' },
    })),
  }
}

const schemeOf = ({ prefix, security }: CompatApi): string => (security ? prefix.replace(/.*\//, '') : 'bearer')

/** How the clients of these services send the API key, for `components.securitySchemes`. */
export const compatSecurity = (apis: readonly CompatApi[]): Record<string, JsonSchema> =>
  Object.fromEntries(apis.flatMap((api) => (api.security ? [[schemeOf(api), api.security]] : [])))

/** The paths of the compat APIs. */
export function compatPaths(apis: readonly CompatApi[]): Record<string, Record<string, JsonSchema>> {
  const paths: Record<string, Record<string, JsonSchema>> = {}
  for (const api of apis) {
    for (const route of api.routes) paths[`${api.prefix}${route.path}`] = { post: compatOperation(api, route) }
    for (const action of api.actions ?? []) {
      const path = (paths[`${api.prefix}${action.path}`] ??= {})
      path[action.method.toLowerCase()] = actionOperation(api, action)
    }
  }
  return paths
}

function compatOperation(api: CompatApi, { path, answers }: CompatRoute): JsonSchema {
  const { service, mediaType } = api
  return {
    operationId: compatOperationId(api, { path }),
    tags: ['Compatibility'],
    summary: `${service} API: POST ${path}`,
    description:
      `For ${service} clients: request and response are as ${service} documents them. ` +
      'Options that Sterna cannot honour are refused. Requires a key with `sending_access` or `full_access`.',
    security: [{ [schemeOf(api)]: [] }],
    ...parametersOf(path),
    requestBody: {
      description: bodyLimitText(bodyLimit),
      required: true,
      content: { [mediaType]: { schema: mediaType === 'application/json' ? anyJson(service) : anyForm(service) } },
    },
    responses: {
      ...Object.fromEntries(
        Object.entries(answers).map(([status, schema]) => [
          status,
          { description: 'Accepted.', headers: headerReferences(['Dropped-Headers']), ...json(schema) },
        ]),
      ),
      ...refusalsOf(api),
    },
  }
}

function actionOperation(api: CompatApi, { method, path, permission }: CompatAction): JsonSchema {
  const { service } = api
  return {
    operationId: compatOperationId(api, { path, method }),
    tags: ['Compatibility'],
    summary: `As ${service}: ${method} ${path}`,
    description:
      `For ${service} clients: request and response are as ${service} documents them. Requires a key with ` +
      `\`${permission}\`${permission === 'read_access' ? ' or `full_access`' : ''}.`,
    security: [{ [schemeOf(api)]: [] }],
    ...parametersOf(path),
    responses: {
      '2XX': {
        description: 'Done.',
        headers: headerReferences([]),
        ...json(anyJson(service)),
      },
      ...refusalsOf(api),
    },
  }
}

const anyForm = (service: string): JsonSchema => ({ type: 'object', description: `As ${service} documents it.` })
const anyJson = (service: string): JsonSchema => ({
  type: ['object', 'array'],
  items: { description: 'An entry.' },
  description: `As ${service} documents it.`,
})

const json = (schema: JsonSchema | null) => (schema === null ? {} : { content: { 'application/json': { schema } } })

const refusalsOf = ({ service, refusal }: CompatApi): Record<string, JsonSchema> => ({
  '4XX': { description: `An error, in the form of ${service}.`, headers: headerReferences([]), ...json(refusal) },
  '5XX': { description: `An internal error, in the form of ${service}.`, headers: headerReferences([]), ...json(refusal) },
})
