import type { Page } from 'playwright-core'
import { expect, test } from 'vitest'
import { visitDashboard, type DashboardVisit } from '../support/dashboard-visit.ts'
import { scriptPayloads } from '../support/script-payloads.ts'
import { startReceiver, status } from '../support/webhook-receiver.ts'

/** Printable text of at most `most` characters, for fields that take no more. */
const within = (text: string, most: number): string => text.slice(0, most)

/** Elements that are none of ours: a stranger's words that were taken for HTML. */
const foreignElements = (tab: Page): Promise<string[]> =>
  tab.evaluate(() => {
    const { document } = globalThis as any
    const elements: any[] = Array.from(document.querySelectorAll('body *'))
    const isForeign = (element: any): boolean =>
      element.matches(
        'script, object, embed, base, meta, link, style, math, marquee, audio, video, img, animate, iframe:not([sandbox=""])',
      ) ||
      Array.from(element.attributes as any[]).some(
        ({ name, value }) =>
          name.startsWith('on') || (/^(?:href|action|formaction|src)$/.test(name) && /^\W*(?:javascript|data):/i.test(value)),
      )
    return elements.filter(isForeign).map((element) => element.outerHTML.slice(0, 200))
  })

/** What was complained of by the pages themselves; the console also tells what the policy of a preview's frame kept from running and loading. */
function besidesFrames({ complaints }: DashboardVisit): string[] {
  const ofFrame =
    /Content Security Policy directive|is sandboxed|to a javascript: URL|^request to (?:https:\/\/evil\.example|x:)|^Unsafe attempt to load URL data:image/
  return complaints.splice(0).filter((text) => !ofFrame.test(text) || text.includes("script-src 'self'"))
}

/** Opens a page as a click on a link does, without loading the dashboard anew. */
const goTo = (tab: Page, path: string): Promise<void> =>
  tab.evaluate((to) => {
    const { history, dispatchEvent, PopStateEvent } = globalThis as any
    history.pushState({}, '', to)
    dispatchEvent(new PopStateEvent('popstate', { state: {} }))
  }, path)

/** Looks at a page when it has settled. */
async function look({ tab, relay }: DashboardVisit, path: string): Promise<void> {
  await tab.goto(relay.baseUrl + path)
  await tab.getByRole('heading', { level: 1 }).waitFor()
  await expect.poll(() => tab.locator('[aria-busy=true]').count()).toBe(0)
  expect(await foreignElements(tab)).toEqual([])
}

test('two hundred payloads in all that a mail and its receiver say are shown as text', { timeout: 600_000 }, async () => {
  let replies = 0
  const visit = await visitDashboard({
    hooks: { rcpt: () => `550 5.1.1 ${within(scriptPayloads[replies++ % scriptPayloads.length] as string, 400)}` },
  })
  const { relay, tab } = visit
  const taken: string[] = []
  tab.on('dialog', (dialog) => {
    taken.push(dialog.message())
    void dialog.dismiss()
  })
  const left: string[] = []
  await visit.context.route('https://evil.example/**', (route) => {
    left.push(route.request().url())
    return route.abort()
  })
  const ids: string[] = []
  for (const [place, payload] of scriptPayloads.entries()) {
    const { status: code, body } = await relay.call('POST', '/api/emails', {
      from: { email: 'app@sender.example', name: payload },
      to: { email: `ann${place}@inbox.example`, name: payload },
      subject: payload,
      text: payload,
      html: payload,
      headers: { 'X-Note': payload },
      tags: [{ name: 'kind', value: within(payload, 256) }],
      metadata: { note: payload },
      attachments: [{ filename: within(payload.replaceAll(/[/\\\0]/g, '_'), 200), content: Buffer.from(payload).toString('base64') }],
    })
    expect(code, JSON.stringify(body)).toBe(200)
    ids.push(body.id)
  }
  await expect.poll(() => replies, { timeout: 120_000 }).toBeGreaterThanOrEqual(scriptPayloads.length)
  await look(visit, '/emails')
  for (const [place, id] of ids.entries()) {
    // A user has 600 requests a minute.
    if (place % 40 === 39) relay.clock.advance(60_000)
    await goTo(tab, `/emails/${id}`)
    const shown = (scriptPayloads[place] as string).replace(/\s+/g, ' ')
    await expect.poll(async () => (await tab.getByRole('heading', { level: 1 }).textContent())?.replace(/\s+/g, ' ')).toBe(shown)
    await tab.getByText(/^Attempt 1/).waitFor({ state: 'attached' })
    expect(await foreignElements(tab)).toEqual([])
  }
  expect([taken, left]).toEqual([[], []])
  expect(besidesFrames(visit)).toEqual([])
})

test('payloads that users, programs and receivers of webhooks leave behind are shown as text', { timeout: 300_000 }, async () => {
  const visit = await visitDashboard()
  const { relay } = visit
  let answers = 0
  const receiver = await startReceiver((res, req) =>
    status(500, { 'content-type': 'text/html' }, scriptPayloads[answers++ % scriptPayloads.length])(res, req),
  )
  const { body: webhook } = await relay.call('POST', '/api/webhooks', { url: receiver.url, events: ['email.sent', 'email.delivered'] })
  // Mustache would refuse those that look like its own.
  const markup = scriptPayloads.filter((payload) => !payload.includes('{{')).join('\n')
  const { body: template } = await relay.call('POST', '/api/templates', {
    name: within(scriptPayloads[0] as string, 50),
    alias: 'hostile',
    subject: scriptPayloads[5],
    html: markup,
    text: markup,
  })
  expect(template.id, JSON.stringify(template)).toBeDefined()
  for (const [place, payload] of scriptPayloads.entries()) {
    await relay.call('POST', '/api/suppressions', { email: `sup${place}@inbox.example`, reason: payload })
    if (place < 60) await relay.call('POST', '/api/api-keys', { name: within(payload, 100), permission: 'sending_access' })
    if (place < 20) await relay.send(`bob${place}@inbox.example`, { subject: payload })
  }
  await expect.poll(() => answers).toBeGreaterThan(20)
  const { body: deliveries } = await relay.call('GET', `/api/webhooks/${webhook.id}/deliveries?limit=20`)
  const paths = [
    '/',
    '/suppressions',
    '/keys',
    '/templates',
    '/templates/hostile',
    '/webhooks',
    `/webhooks/${webhook.id}`,
    '/people?tab=audit',
  ]
  for (const path of paths) await look(visit, path)
  for (const { id } of deliveries.data) await look(visit, `/webhooks/${webhook.id}/deliveries/${id}`)
  expect(besidesFrames(visit)).toEqual([])
})
