import { isHarmless } from '../../platform/health.ts'
import { isoTime } from '../../platform/iso-time.ts'
import type { ListedNode } from '../../platform/store/node-rows.ts'
import { type Finding, sayOf } from './finding.ts'

/** The faults that the nodes tell of themselves. One that several have alike is told once. */
export function judgeNodes(nodes: readonly ListedNode[]): Finding[] {
  const say = sayOf('node')
  const told = nodes.flatMap(({ machine, faults }) => faults.map((fault) => ({ machine, ...fault })))
  const alike = Object.values(Object.groupBy(told, ({ name, message }) => `${name} ${message}`))
  return [
    ...alike.flatMap((those = []) => {
      const [first] = those.toSorted((one, other) => (one.since < other.since ? -1 : 1))
      if (!first) return []
      const { name: fault, since, message } = first
      const machines = [...new Set(those.map(({ machine }) => machine))].join(', ')
      return [say[isHarmless(fault) ? 'warning' : 'failed']('node_fault', { machines, fault, since, message })]
    }),
    ...nodes
      .filter(({ faults }) => faults.length === 0)
      .map(({ machine, heardAt }) => say.ok('node_fine', { machine, time: isoTime(heardAt) })),
  ]
}
