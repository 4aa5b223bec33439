import { expect, test } from 'vitest'
import { silentLog } from '../../../src/platform/log.ts'
import { MetricsPage } from '../../../src/platform/metrics/metrics-page.ts'
import { parseExposition, valueOf } from '../../support/parse-exposition.ts'
import { settableClock } from '../../support/settable-clock.ts'

const newPage = () => {
  const clock = settableClock()
  const page = new MetricsPage({ clock, log: silentLog })
  return { clock, page, parsed: async () => parseExposition(await page.text('1')) }
}

test('a part that cannot be read is omitted and marked, and does not affect the others', async () => {
  const { page, parsed } = newPage()
  const { metrics } = page
  let isBroken = false
  page.add(
    {
      part: 'reports',
      gauges: [metrics.reportsWaiting],
      goodForMs: 0,
      read() {
        if (isBroken) throw new Error('broken')
        metrics.reportsWaiting.set(3)
      },
    },
    { part: 'disk', gauges: [metrics.diskFree], goodForMs: 0, read: () => metrics.diskFree.set(5) },
  )
  expect(valueOf(await parsed(), 'sterna_reports_waiting')).toBe(3)
  isBroken = true
  const without = await parsed()
  expect(valueOf(without, 'sterna_reports_waiting')).toBeUndefined()
  expect(valueOf(without, 'sterna_scrape_part_up', { part: 'reports' })).toBe(0)
  expect(valueOf(without, 'sterna_scrape_part_up', { part: 'disk' })).toBe(1)
  expect(valueOf(without, 'sterna_disk_free_bytes')).toBe(5)
  isBroken = false
  expect(valueOf(await parsed(), 'sterna_scrape_part_up', { part: 'reports' })).toBe(1)
})

test('figures that stay valid for a while are read once, however many ask', async () => {
  const { clock, page, parsed } = newPage()
  let reads = 0
  page.add({
    part: 'queue',
    gauges: [],
    goodForMs: 10_000,
    async read() {
      await Promise.resolve()
      page.metrics.deferred.set(++reads)
    },
  })
  await Promise.all([parsed(), parsed(), parsed()])
  clock.advance(9_999)
  expect(valueOf(await parsed(), 'sterna_queue_deferred_recipients')).toBe(1)
  clock.advance(1)
  expect(valueOf(await parsed(), 'sterna_queue_deferred_recipients')).toBe(2)
})

test('the longer figures take to read, the less often they are read', async () => {
  const { clock, page, parsed } = newPage()
  let reads = 0
  page.add({
    part: 'queue',
    gauges: [],
    goodForMs: 10_000,
    async read() {
      reads++
      clock.advance(1_000)
    },
  })
  await parsed()
  clock.advance(49_999)
  await parsed()
  expect(reads).toBe(1)
  clock.advance(1)
  await parsed()
  expect(reads).toBe(2)
})

test('a part that hangs delays nobody; its figures stay for two minutes', async () => {
  const { clock, page, parsed } = newPage()
  let reads = 0
  const reading = Promise.withResolvers<void>()
  page.add({
    part: 'queue',
    gauges: [page.metrics.deferred],
    goodForMs: 10_000,
    async read() {
      if (++reads > 1) await reading.promise
      page.metrics.deferred.set(reads)
    },
  })
  await parsed()
  clock.advance(10_000)
  expect(valueOf(await parsed(), 'sterna_queue_deferred_recipients')).toBe(1)
  clock.advance(120_001)
  const stale = await parsed()
  expect(valueOf(stale, 'sterna_queue_deferred_recipients')).toBeUndefined()
  expect(valueOf(stale, 'sterna_scrape_part_up', { part: 'queue' })).toBe(0)
  expect(reads).toBe(2)
  reading.resolve()
  await expect.poll(async () => valueOf(await parsed(), 'sterna_queue_deferred_recipients')).toBe(2)
})
