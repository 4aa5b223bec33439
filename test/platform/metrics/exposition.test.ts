import { expect, test } from 'vitest'
import { exposition } from '../../../src/platform/metrics/exposition.ts'
import { metricsOf, newSharedCells } from '../../../src/platform/metrics/metrics.ts'
import { histogramFaults, parseExposition, valueOf } from '../../support/parse-exposition.ts'

const build = { version: '1.2.3', node: '26.0.0' }

test('adds up the counts of all threads, label by label', () => {
  const sheets = [newSharedCells(), newSharedCells(), newSharedCells()]
  const [first, second, third] = sheets.map((sharedCells) => metricsOf(sharedCells))
  first?.attempts.delivered.google.add()
  second?.attempts.delivered.google.add(2)
  third?.attempts.delivered.microsoft.add()
  third?.reportsWaiting.set(7)
  const parsed = parseExposition(exposition(sheets, build))
  expect(valueOf(parsed, 'sterna_delivery_attempts_total', { outcome: 'delivered', provider: 'google' })).toBe(3)
  expect(valueOf(parsed, 'sterna_delivery_attempts_total', { outcome: 'delivered', provider: 'microsoft' })).toBe(1)
  expect(valueOf(parsed, 'sterna_delivery_attempts_total', { outcome: 'bounced', provider: 'google' })).toBe(0)
  expect(valueOf(parsed, 'sterna_reports_waiting')).toBe(7)
})

test('the buckets of a histogram are cumulative, and each value is in the first bucket whose bound it does not exceed', () => {
  const sheets = [newSharedCells(), newSharedCells()]
  const [first, second] = sheets.map((sharedCells) => metricsOf(sharedCells))
  for (const batches of [1, 2, 2, 3, 1000]) first?.commitBatches.observe(batches)
  second?.commitBatches.observe(4)
  const parsed = parseExposition(exposition(sheets, build))
  const at = (le: string) => valueOf(parsed, 'sterna_store_commit_batches_bucket', { le })
  expect([at('1'), at('2'), at('4'), at('8'), at('256'), at('+Inf')]).toEqual([1, 3, 5, 5, 5, 6])
  expect(valueOf(parsed, 'sterna_store_commit_batches_count')).toBe(6)
  expect(valueOf(parsed, 'sterna_store_commit_batches_sum')).toBe(1012)
  expect(histogramFaults(parsed)).toEqual([])
})

test('omits unknown gauges', () => {
  const sheets = [newSharedCells(), newSharedCells()]
  metricsOf(sheets[0]).diskFree.set(Number.NaN)
  const parsed = parseExposition(exposition(sheets, build))
  expect(valueOf(parsed, 'sterna_disk_free_bytes')).toBeUndefined()
  expect(valueOf(parsed, 'sterna_disk_size_bytes')).toBe(0)
})

test('a label with quotes, backslashes and line ends stays one label', () => {
  const version = '1"} 1\nsterna_fault{name="x\\'
  const parsed = parseExposition(exposition([newSharedCells()], { version, node: '26' }))
  expect(valueOf(parsed, 'sterna_build_info', { version, node: '26' })).toBe(1)
})
