import { expect, test } from 'vitest'
import { Health } from '../../src/platform/health.ts'
import { createLog } from '../../src/platform/log.ts'

const startOf2026 = Date.UTC(2026, 0, 1)

test('a fault is reported from its beginning to its end, and logged once each', () => {
  const lines: { level: string; fault: string }[] = []
  let now = startOf2026
  const health = new Health({ clock: { now: () => now }, log: createLog('info', (line) => lines.push(JSON.parse(line))) })
  expect(health.faults).toEqual([])

  health.set('disk_full', true, { free: 0 })
  now += 60_000
  health.set('disk_full', true)
  expect(health.faults).toMatchObject([{ name: 'disk_full', since: '2026-01-01T00:00:00.000Z' }])
  expect(lines).toMatchObject([{ level: 'error', fault: 'disk_full', free: 0 }])

  health.set('disk_full', false)
  health.set('disk_full', false)
  expect(health.faults).toEqual([])
  expect(lines.map(({ level }) => level)).toEqual(['error', 'info'])
})
