import { z } from 'zod'
import type { ListedNode } from '../../platform/store/node-rows.ts'
import type { Operation } from '../operation/operation.ts'
import { operationsAt } from '../operation/operations-at.ts'
import { listOf, wholeList } from '../operation/page.ts'
import { resource, time, timeAnswer } from '../operation/resource.ts'
import type { Needs } from './operation-services.ts'

/** A node, as the API and the command line show it. */
export const nodeResource = resource<ListedNode>('Node')({
  object: 'node',
  id: z.string().describe('Each start has another.'),
  machine: z.string().describe('The name of the machine that it runs on.'),
  version: z.string(),
  started_at: time(),
  heard_at: time('When it last told the others that it lives: every second, or every minute if it is the only one.'),
  addresses: z.array(z.string()).describe('That its mail leaves from, as far as it knows; none behind a smarthost.'),
  faults: z
    .array(z.object({ name: z.string(), message: z.string(), since: timeAnswer }))
    .describe('As GET /healthz shows them at that node.'),
})

const at = operationsAt({ path: '/api/nodes', tag: 'Operation', permission: 'operator' })

/** `/api/nodes` */
export const nodeOperations = (services: Needs<'nodeList'>): Operation[] => [
  at.get('nodes.list', '', 'List the nodes', {
    description:
      'The servers that run on this database. One that has died stays in the list until the others know, for about five seconds.',
    answer: ['All of them, the earliest first, always on one page.', listOf(nodeResource.schema)],
    handle: async () => wholeList((await services.nodeList()).map(nodeResource.answer)),
  }),
]
