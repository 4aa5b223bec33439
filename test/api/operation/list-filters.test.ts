import { expect, test } from 'vitest'
import type { Call } from '../../../src/api/operation/call.ts'
import type { Operation } from '../../../src/api/operation/operation.ts'
import type { ApiServices } from '../../../src/api/resource/operation-services.ts'
import { apiOperations } from '../../../src/api/resource/operations.ts'

/** Whatever is asked of it, it is itself: a service, a caller, a row. */
const anything: any = new Proxy(() => undefined, {
  get: (_, name) => (name === 'then' || typeof name === 'symbol' ? undefined : anything),
  apply: () => anything,
})

/** The parameters of its query that a handler reads when none is given. */
async function parametersRead({ query = {}, handle }: Operation): Promise<Set<string>> {
  const read = new Set<string>()
  const given = new Proxy(Object.fromEntries(Object.keys(query).map((name) => [name, null])), {
    get(values, name) {
      read.add(String(name))
      return Reflect.get(values, name) as unknown
    },
  })
  const call = { caller: anything, params: {}, query: given, body: undefined, headers: {}, path: '', reply: anything }
  try {
    await handle(call as unknown as Call<never, never, never>)
  } catch {
    // The rows are no rows, but by then it has asked for them.
  }
  return read
}

const lists = apiOperations(anything as ApiServices).filter(({ query = {} }) => 'after' in query)

test.each(lists)('$id reads every filter that it declares', async (operation) => {
  const read = await parametersRead(operation)
  expect(Object.keys(operation.query ?? {}).filter((name) => !read.has(name))).toEqual([])
})
