import { expect, test } from 'vitest'
import { FetchPlaces } from '../../../src/mail-out/mta-sts/fetch-places.ts'
import type { Fetched } from '../../../src/mail-out/mta-sts/fetch-sts-policy.ts'

const policy = { mode: 'enforce' as const, mx: ['mx.rcpt.example'], maxAgeMs: 604_800_000 }

/** Fetches that end when the test says so, or when they are told to. */
function places(share?: number) {
  const running = new Map<string, () => void>()
  const started: string[] = []
  const fetch = (domain: string, signal: AbortSignal): Promise<Fetched> => {
    started.push(domain)
    return new Promise((resolve) => {
      const finish = (fetched: Fetched): void => {
        running.delete(domain)
        resolve(fetched)
      }
      running.set(domain, () => finish({ policy }))
      signal.addEventListener('abort', () =>
        finish({ fault: { type: 'sts-policy-fetch-error', reason: (signal.reason as Error).message } }),
      )
    })
  }
  return { all: new FetchPlaces(fetch, share === undefined ? {} : { share }), running, started }
}

const names = (count: number, ending: string): string[] => Array.from({ length: count }, (_, i) => `d${i}${ending}`)

test('fifty fetches are under way at most, and the others start in their order', async () => {
  const { all, running, started } = places()
  const domains = names(60, '.example')
  const fetched = domains.map((domain) => all.fetch(domain))
  await expect.poll(() => running.size).toBe(50)
  for (const domain of domains) {
    await expect.poll(() => running.has(domain)).toBe(true)
    running.get(domain)?.()
  }
  expect(await Promise.all(fetched)).toEqual(domains.map(() => ({ policy })))
  expect(started).toEqual(domains)
})

test('the subdomains of one domain have five places, and hold up nobody else', async () => {
  const { all, running } = places()
  const many = names(100, '.many.example').map((domain) => all.fetch(domain))
  const other = all.fetch('rcpt.example')
  await expect.poll(() => [...running.keys()]).toEqual([...names(5, '.many.example'), 'rcpt.example'])
  running.get('rcpt.example')?.()
  expect(await other).toEqual({ policy })
  while (running.size > 0) {
    for (const finish of running.values()) finish()
    await new Promise(setImmediate)
  }
  expect(await Promise.all(many)).toEqual(many.map(() => ({ policy })))
})

test('five that never answer hold up the others of their domain for their share', async () => {
  const { all, running } = places(50)
  const [first] = names(5, '.many.example').map((domain) => all.fetch(domain))
  const next = all.fetch('good.many.example')
  expect(await first).toMatchObject({ fault: { reason: 'mta-sts.d0.many.example did not answer within 0.05 seconds' } })
  await expect.poll(() => running.has('good.many.example')).toBe(true)
  running.get('good.many.example')?.()
  expect(await next).toEqual({ policy })
  expect(running.size).toBe(4)
})

test('customers of one provider of subdomains have places of their own', async () => {
  const { all, running } = places()
  const domains = names(10, '.eu.org').flatMap((owner) => [owner, `mail.${owner}`])
  const fetched = domains.map((domain) => all.fetch(domain))
  await expect.poll(() => running.size).toBe(20)
  for (const finish of running.values()) finish()
  expect(await Promise.all(fetched)).toEqual(domains.map(() => ({ policy })))
})

test('one that has had its share gives its place to one that waits', async () => {
  const { all, running } = places(50)
  const [first] = names(50, '.example').map((domain) => all.fetch(domain))
  const next = all.fetch('rcpt.example')
  const reason = 'mta-sts.d0.example did not answer within 0.05 seconds'
  expect(await first).toEqual({ fault: { type: 'sts-policy-fetch-error', reason } })
  await expect.poll(() => running.has('rcpt.example')).toBe(true)
  running.get('rcpt.example')?.()
  expect(await next).toEqual({ policy })
  // Nobody waits any more.
  expect(running.size).toBe(49)
})
