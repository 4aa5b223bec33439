import { expect, test } from 'vitest'
import { faultsShown, keepScreenshot, openPage, visitDashboard } from '../support/dashboard-visit.ts'

test('pages hold long words, large text, a narrow phone, forced colours and no motion', { timeout: 300_000 }, async () => {
  const { relay, tab } = await visitDashboard()
  const id = await relay.send(['ann@inbox.example', 'bob@inbox.example'], { subject: 'Rechtsschutzversicherungsgesellschaften' })
  await relay.call('POST', '/api/domains', { name: 'a-rather-long-name-of-a-domain.acme.example' })
  await relay.call('POST', '/api/templates', { name: 'Welcome', alias: 'welcome', subject: 'Hello', html: '<p>Hello</p>' })
  const { body: webhook } = await relay.call('POST', '/api/webhooks', { url: 'http://127.0.0.1:9/hook', events: ['email.opened'] })
  await tab.goto(`${relay.baseUrl}/me`)
  await tab.getByLabel('Language').selectOption('de')
  await tab.getByRole('navigation', { name: 'Hauptmenü' }).waitFor()
  const important = ['/', '/emails', `/emails/${id}`, '/domains/a-rather-long-name-of-a-domain.acme.example', '/welcome']
  const others = ['/analytics', '/domains', '/templates', '/templates/welcome', '/suppressions', '/reports', '/reports/sender.example']
  const built = ['/keys', '/webhooks', `/webhooks/${webhook.id}`, '/sandbox', '/queue', '/health', '/people', '/settings', '/me']
  const faults: string[] = []
  const sideways = (): Promise<number> =>
    tab.evaluate(() => {
      const { scrollWidth, clientWidth } = (globalThis as any).document.documentElement
      return scrollWidth - clientWidth
    })
  for (const path of [...important, ...others, ...built]) {
    await tab.setViewportSize({ width: 1280, height: 900 })
    await tab.emulateMedia({ colorScheme: 'light' })
    await openPage(tab, relay.baseUrl + path)
    const name = path.split('/')[1] || 'overview'
    const note = (look: string, found: string[]): void => void faults.push(...found.map((fault) => `${path} ${look}: ${fault}`))
    note('1280', await faultsShown(tab))
    await tab.emulateMedia({ colorScheme: 'dark' })
    await tab.setViewportSize({ width: 390, height: 900 })
    await keepScreenshot(tab, `german-${name}-390`)
    note('390', await faultsShown(tab))
    if (!important.includes(path)) continue
    await tab.emulateMedia({ forcedColors: 'active', reducedMotion: 'reduce' })
    note('forced colours', await faultsShown(tab))
    await tab.emulateMedia({ forcedColors: 'none', reducedMotion: 'no-preference' })
    await tab.setViewportSize({ width: 320, height: 900 })
    await keepScreenshot(tab, `german-${name}-320`)
    if ((await sideways()) > 0) note('320', [`scrolls sideways by ${await sideways()}`])
    // As at 1280 with everything twice as large.
    await tab.setViewportSize({ width: 640, height: 450 })
    await keepScreenshot(tab, `german-${name}-large`)
    if ((await sideways()) > 0) note('200 %', [`scrolls sideways by ${await sideways()}`])
  }
  expect(faults).toEqual([])
})
