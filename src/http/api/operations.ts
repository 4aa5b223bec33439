import type { Operation } from '../operation.ts'

/** What the endpoints of the API need, each resource its own. */
export type ApiParts = object

/**
 * Every endpoint of the API. The parts are first touched when a request comes, so that the OpenAPI document can be made
 * without a server.
 */
export function apiOperations(_parts: ApiParts): Operation[] {
  return []
}
