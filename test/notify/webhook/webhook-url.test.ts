import { expect, test } from 'vitest'
import { webhookUrlFault } from '../../../src/notify/webhook/webhook-url.ts'

test.each([
  'https://app.example.com/hooks?a=b',
  'http://app:3000',
  'http://localhost:8080/x',
  'https://bücher.example/ü',
  'HTTPS://EXAMPLE.COM/',
  `https://example.com/${'a'.repeat(2028)}`,
])('accepts %s', (url) => {
  expect(webhookUrlFault(url, { allowHttp: true })).toBeNull()
})

test.each([
  ['/hooks', 'absolute'],
  ['example.com/hooks', 'absolute'],
  ['', 'absolute'],
  ['https://', 'absolute'],
  ['https:example.com', 'begin with'],
  ['http:///x', 'host after'],
  ['https:////evil.example/x', 'host after'],
  ['https:\\\\evil.example/x', 'begin with'],
  ['https://\\evil.example/x', 'host after'],
  ['ftp://example.com/', 'begin with'],
  ['javascript:alert(1)', 'begin with'],
  ['unix:/var/run/docker.sock', 'begin with'],
  ['file:///etc/passwd', 'begin with'],
  ['https://user:pass@example.com/', 'user name'],
  ['https://user@example.com/', 'user name'],
  ['https://example.com/#top', 'fragment'],
  ['https://example.com/#', 'fragment'],
  [' https://example.com/', 'spaces'],
  ['https://example.com/\n', 'spaces'],
  ['https://exa\tmple.com/', 'spaces'],
  ['http://example.com:25/', 'port 25'],
  ['http://example.com:6379/', 'port 6379'],
  [`https://example.com/${'a'.repeat(2029)}`, '2048'],
])('refuses %j', (url, why) => {
  expect(webhookUrlFault(url, { allowHttp: true })).toContain(why)
})

test('http can be forbidden', () => {
  expect(webhookUrlFault('http://example.com/', { allowHttp: false })).toContain('https')
  expect(webhookUrlFault('https://example.com/', { allowHttp: false })).toBeNull()
})
