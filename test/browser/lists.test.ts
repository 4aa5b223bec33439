import { expect, test } from 'vitest'
import { faultsShown, keepScreenshot, openPage, visitDashboard } from '../support/dashboard-visit.ts'

const all = Array.from({ length: 105 }, (_, n) => n)

test('a list and a choice have their 101st object too', { timeout: 300_000 }, async () => {
  const { relay, tab } = await visitDashboard({ settings: { plans: 'free=100000' } })
  for (const n of all) {
    await relay.call('POST', '/api/domains', { name: `d${n}.example` })
    await relay.call('POST', '/api/api-keys', { name: `key ${n}` })
  }
  const rows = (): Promise<number> => tab.locator('main tbody tr').count()
  for (const path of ['/keys', '/domains']) {
    await tab.goto(relay.baseUrl + path)
    await expect.poll(rows).toBeGreaterThanOrEqual(all.length)
  }
  await tab.goto(`${relay.baseUrl}/emails`)
  await expect.poll(() => tab.getByLabel('Domain').locator('option').count()).toBeGreaterThan(all.length)
  await tab.goto(`${relay.baseUrl}/reports`)
  await expect.poll(rows).toBe(50)
  await tab.getByRole('button', { name: /^Show all 10/ }).click()
  await expect.poll(rows).toBeGreaterThanOrEqual(all.length)
  await tab.getByRole('button', { name: 'Find' }).first().click()
  await tab.keyboard.type('d104.exam')
  await tab.getByRole('dialog', { name: 'Find' }).getByRole('link', { name: 'd104.example' }).waitFor()
})

test('an email shows all of its 45 recipients, and what happened to each', { timeout: 300_000 }, async () => {
  const { relay, tab } = await visitDashboard()
  const to = Array.from({ length: 45 }, (_, n) => `person-${n}@inbox.example`)
  const id = await relay.send(to)
  const { db } = relay.relay.services
  await expect.poll(() => db.read(`select id from recipient where state <> 'delivered'`)).toEqual([])
  await tab.goto(`${relay.baseUrl}/emails/${id}`)
  await expect.poll(() => tab.locator('#rcpts tbody tr').count()).toBe(45)
  // Accepted, tried and delivered, each.
  await expect.poll(() => tab.locator('ol.time > li').count()).toBe(3 * 45)
})

test('copying works over plain HTTP with a host name, in a dialog too', async () => {
  const { relay, tab } = await visitDashboard()
  // As browsers have it there.
  await tab.addInitScript('delete Navigator.prototype.clipboard')
  const id = await relay.send('ann@inbox.example')
  await tab.goto(`${relay.baseUrl}/emails/${id}`)
  expect(await tab.evaluate('navigator.clipboard === undefined')).toBe(true)
  await tab.getByRole('button', { name: 'Copy Id' }).click()
  await tab.getByRole('button', { name: 'Copied' }).waitFor()
  await tab.keyboard.press('/')
  const field = tab.getByRole('dialog', { name: 'Find' }).getByRole('searchbox')
  await field.press('Control+v')
  expect(await field.inputValue()).toBe(id)
})

const label = 'a'.repeat(63)

test('one long domain, address or subject does not break a page', { timeout: 300_000 }, async () => {
  const { relay, tab } = await visitDashboard()
  await relay.call('POST', '/api/domains', { name: `${label}.${label}.${label}.example` })
  await relay.call('POST', '/api/suppressions', { email: `x@${'b'.repeat(61)}.${label}.${label}.example` })
  const id = await relay.send([`${'l'.repeat(64)}@${'b'.repeat(61)}.${label}.example`, 'ann@inbox.example'], { subject: 'W'.repeat(900) })
  await relay.call('POST', '/api/webhooks', { url: `http://127.0.0.1:9/${'path'.repeat(200)}`, events: ['email.bounced'] })
  await relay.call('POST', '/api/api-keys', { name: 'k'.repeat(100) })
  await relay.call('POST', '/api/templates', {
    name: 'n'.repeat(255),
    alias: 'a'.repeat(64),
    subject: 'S'.repeat(900),
    html: '<p>Hello</p>',
  })
  const paths = ['/', '/emails', `/emails/${id}`, '/domains', `/domains/${label}.${label}.${label}.example`, '/suppressions', '/webhooks']
  const others = [
    '/keys',
    '/templates',
    `/templates/${'a'.repeat(64)}`,
    '/reports',
    `/reports/${label}.${label}.${label}.example`,
    '/queue',
    '/analytics',
  ]
  const broken: string[] = []
  for (const path of [...paths, ...others]) {
    for (const width of [1280, 390, 320]) {
      await tab.setViewportSize({ width, height: 900 })
      // Some pages show something else where they are first opened on a phone.
      if (width !== 320) await openPage(tab, relay.baseUrl + path)
      const sideways = await tab.evaluate('document.documentElement.scrollWidth - document.documentElement.clientWidth')
      if (Number(sideways) > 0) broken.push(`${path.slice(0, 20)} at ${width}: scrolls sideways by ${String(sideways)}`)
      await keepScreenshot(tab, `long-${path.split('/')[1] || 'overview'}${path.split('/').length > 2 ? '-one' : ''}-${width}`)
    }
    broken.push(...(await faultsShown(tab)))
  }
  expect(broken).toEqual([])
})
