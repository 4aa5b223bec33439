import { readFileSync } from 'node:fs'
import ipaddr from 'ipaddr.js'
import { describe, expect, test } from 'vitest'
import { agentKind } from '../../../src/readers/tracking/agent-kind.ts'

interface Network {
  who: string
  source: string
  cidrs: string[]
}

const rules = JSON.parse(readFileSync(new URL('../../../config/reader-rules.json', import.meta.url), 'utf8')) as {
  weights: Record<string, { weight: number; source: string }>
  agents: Record<string, { says?: string; source: string }[]>
  networks: Record<string, Network[]>
}

describe('the rules as written', () => {
  test('each weight is a likelihood and has its source', () => {
    for (const [name, { weight, source }] of Object.entries(rules.weights)) {
      expect(weight, name).toBeGreaterThan(0)
      expect(weight, name).toBeLessThanOrEqual(0.99)
      expect(source, name).not.toBe('')
    }
  })

  test('agents are in lower case and have a source', () => {
    for (const { says = '', source } of Object.values(rules.agents).flat()) {
      expect(says).toBe(says.toLowerCase())
      expect(source, says).not.toBe('')
    }
  })

  test('each network has a source, and starts where it says', () => {
    for (const { who, source, cidrs } of Object.values(rules.networks).flat()) {
      expect(source, who).not.toBe('')
      for (const cidr of cidrs) {
        const [base, bits] = ipaddr.parseCIDR(cidr)
        const first = base.kind() === 'ipv4' ? ipaddr.IPv4.networkAddressFromCIDR(cidr) : ipaddr.IPv6.networkAddressFromCIDR(cidr)
        expect(`${first.toString()}/${bits}`).toBe(`${base.toString()}/${bits}`)
      }
    }
  })
})

test.each([
  ['URL/Emacs Emacs/29.1 (X11; x86_64-pc-linux-gnu)', 'mail_app'],
  ['Mozilla/5.0 (Linux; Android 9; CUBOT_X19) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/88.0.4324.93 Mobile Safari/537.36', 'browser'],
  ['NetSurf/3.10 (Linux)', 'browser'],
  [
    'Mozilla/5.0 (iPhone; CPU iPhone OS 17_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Mobile/15E148 [LinkedInApp]/9.29',
    'browser',
  ],
  ['Mozilla/5.0 (Windows NT 10.0) AppleWebKit/537.36 Chrome/142.0.0.0 Safari/537.36 OneOutlook/1.2025', 'mail_app'],
  ['Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)', 'robot'],
  ['Mozilla/5.0+(compatible; MonSpark/1.0; http://www.monspark.com/)', 'robot'],
  ['okhttp/4.12.0', 'robot'],
  ['YahooMailProxy; https://help.yahoo.com/kb/yahoo-mail-proxy-SLN28749.html', 'robot'],
  ['Mozilla/5.0', 'robot'],
  ['-', 'none'],
])('%s that follows a link is %s', (agent, kind) => {
  expect(agentKind(agent.toLowerCase(), false)).toBe(kind)
})

test.each([
  ['okhttp/4.12.0', 'mail_app'],
  ['Dalvik/2.1.0 (Linux; U; Android 13; SM-A536B)', 'mail_app'],
  ['YahooMailProxy; https://help.yahoo.com/kb/yahoo-mail-proxy-SLN28749.html', 'image_proxy'],
  ['Mozilla/5.0', 'apple_mpp'],
  [
    'Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/42.0.2311.135 Safari/537.36 Edge/12.246 Mozilla/5.0',
    'gmail_prefetch',
  ],
  ['Slack-ImgProxy (+https://api.slack.com/robots)', 'robot'],
  ['curl/8.5.0', 'robot'],
])('%s that fetches the picture is %s', (agent, kind) => {
  expect(agentKind(agent.toLowerCase(), true)).toBe(kind)
})
