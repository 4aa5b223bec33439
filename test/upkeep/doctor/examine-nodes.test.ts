import { expect, test } from 'vitest'
import type { ListedNode, NodeFault } from '../../../src/platform/store/node-rows.ts'
import { judgeNodes } from '../../../src/upkeep/doctor/examine-nodes.ts'

const node = (machine: string, ...faults: NodeFault[]): ListedNode => ({
  id: `node_${machine}`,
  machine,
  version: 'test',
  startedAt: 0,
  heardAt: 0,
  addresses: [],
  faults,
})
const fault = (name: string, since: string, message = 'Mend it.'): NodeFault => ({ name, since, message })
const told = (...nodes: ListedNode[]) => judgeNodes(nodes).map(({ status, what, advice }) => [status, what, advice])

test('each fault is told with its machine, and what to do about it', () => {
  expect(told(node('one'), node('two', fault('disk_full', '2026-11-21T06:00:00.000Z')))).toEqual([
    ['failed', 'two: the fault disk_full, since 2026-11-21T06:00:00.000Z.', 'Mend it.'],
    ['ok', 'one reported no faults at 1970-01-01T00:00:00.000Z.', null],
  ])
})

test('a fault that several have alike is told once, since it began', () => {
  const [first, later] = ['2026-11-21T06:00:00.000Z', '2026-11-21T06:01:00.000Z']
  expect(told(node('one', fault('backup', later)), node('two', fault('backup', first), fault('backup', first, 'Other.')))).toEqual([
    ['warning', `one, two: the fault backup, since ${first}.`, 'Mend it.'],
    ['warning', `two: the fault backup, since ${first}.`, 'Other.'],
  ])
})

test('an unknown fault of a newer program is taken for one that keeps mail back', () => {
  expect(told(node('one', fault('of_the_future', '2026-11-21T06:00:00.000Z')))).toMatchObject([
    ['failed', expect.stringContaining('of_the_future'), 'Mend it.'],
  ])
})
