import type { CompatApi, CompatRoute } from './compat/compat-api.ts'
import { headerReferences } from './openapi-headers.ts'
import type { JsonSchema } from './openapi-schema.ts'

const parameter = {
  name: 'domain',
  in: 'path',
  required: true,
  description: 'The domain to send from, verified for the account.',
  schema: { type: 'string' },
}

const schemeOf = ({ prefix, security }: CompatApi): string => (security ? prefix.replace(/.*\//, '') : 'bearer')

/** How the clients of these services show the API key, as it belongs under `components.securitySchemes`. */
export const compatSecurity = (apis: readonly CompatApi[]): Record<string, JsonSchema> =>
  Object.fromEntries(apis.flatMap((api) => (api.security ? [[schemeOf(api), api.security]] : [])))

/** The paths of the apis for the clients of other services. */
export const compatPaths = (apis: readonly CompatApi[]): Record<string, { post: JsonSchema }> =>
  Object.fromEntries(
    apis.flatMap((api) => api.routes.map((route) => [`${api.prefix}${route.path}`, { post: compatOperation(api, route) }])),
  )

function compatOperation(api: CompatApi, { path, answers }: CompatRoute): JsonSchema {
  const { prefix, service, mediaType, refusal } = api
  const json = (schema: JsonSchema | null) => (schema === null ? {} : { content: { 'application/json': { schema } } })
  return {
    operationId: `compat.${`${prefix}${path}`.slice('/compat/'.length).replace(/[^A-Za-z0-9.]+/g, '_')}`,
    tags: ['Compatibility'],
    summary: `As ${service}: POST ${path}`,
    description:
      `For clients that were written for ${service}: the body is what its documentation says, and so is the answer. ` +
      'What cannot be honoured is refused. Needs a key with `sending_access` or `full_access`.',
    security: [{ [schemeOf(api)]: [] }],
    ...(path.includes('{domain}') ? { parameters: [parameter] } : {}),
    requestBody: {
      required: true,
      content: { [mediaType]: { schema: { type: ['object', 'array'], description: `As ${service} documents it.` } } },
    },
    responses: {
      ...Object.fromEntries(
        Object.entries(answers).map(([status, schema]) => [
          status,
          { description: 'Accepted.', headers: headerReferences([]), ...json(schema) },
        ]),
      ),
      '4XX': { description: `Refused, in the form of ${service}.`, headers: headerReferences([]), ...json(refusal) },
      '5XX': { description: `A fault of the server, in the form of ${service}.`, headers: headerReferences([]), ...json(refusal) },
    },
  }
}
