import { expect, test } from 'vitest'
import { bounceConcern, verdictOf, type MailFacts } from '../../../src/clients/dashboard/verdict.ts'

const quiet: MailFacts = {
  sent: 100,
  delivered: 100,
  bounced: 0,
  failed: 0,
  before: null,
  hasSent: true,
  waitingFor: [],
  failedChecks: [],
  lostDomains: [],
}

test.each<[string, Partial<MailFacts>, object]>([
  ['all delivered', {}, { name: 'gettingOut' }],
  ['a little waits', { delivered: 96 }, { name: 'gettingOut' }],
  ['much waits, for several hosts', { delivered: 80, waitingFor: ['a.example', 'b.example'] }, { name: 'someWaits' }],
  ['much waits, for one host', { delivered: 80, waitingFor: ['a.example'] }, { name: 'oneWaits', about: 'a.example' }],
  ['32 % bounced', { delivered: 68, bounced: 32 }, { name: 'manyBounce', share: 0.32 }],
  ['55 % bounced', { sent: 20, delivered: 9, bounced: 11 }, { name: 'manyBounce', share: 0.55 }],
  ['some fail by a fault of this server', { delivered: 90, failed: 10 }, { name: 'manyBounce', share: 0.1 }],
  ['one of two bounced', { sent: 2, delivered: 1, bounced: 1 }, { name: 'manyBounce', share: 0.5 }],
  ['one of ten bounced', { sent: 10, delivered: 9, bounced: 1 }, { name: 'gettingOut' }],
  ['5 % bounced', { delivered: 95, bounced: 5 }, { name: 'gettingOut' }],
  ['all bounced', { sent: 5, delivered: 0, bounced: 5 }, { name: 'allBounced' }],
  ['most bounced, one waits', { sent: 5, delivered: 0, bounced: 4, waitingFor: ['a.example'] }, { name: 'allBounced' }],
  ['port 25 fails, after mail was delivered', { failedChecks: ['port_25'] }, { name: 'mayNotGetOut' }],
  ['port 25 fails, and bounces are many', { delivered: 68, bounced: 32, failedChecks: ['port_25'] }, { name: 'mayNotGetOut' }],
  ['port 25 fails, and all waits', { delivered: 0, failedChecks: ['port_25'] }, { name: 'blocked' }],
  ['port 25 fails before anything was sent', { sent: 0, delivered: 0, hasSent: false, failedChecks: ['port_25'] }, { name: 'blocked' }],
  ['the name servers fail', { sent: 0, delivered: 0, failedChecks: ['resolver'] }, { name: 'blocked' }],
  ['another check fails', { failedChecks: ['reverse_dns'] }, { name: 'checkFails' }],
  ['bounces weigh more than a check', { delivered: 68, bounced: 32, failedChecks: ['reverse_dns'] }, { name: 'manyBounce', share: 0.32 }],
  ['a domain lost a record', { lostDomains: ['shop.example'] }, { name: 'domainLost', about: 'shop.example' }],
  ['five wait for one host', { sent: 5, delivered: 0, waitingFor: ['a.example'] }, { name: 'oneWaits', about: 'a.example' }],
  ['five wait for several hosts', { sent: 5, delivered: 0, waitingFor: ['a.example', 'b.example'] }, { name: 'nothingOut' }],
  ['five wait, it is not known for whom', { sent: 5, delivered: 0 }, { name: 'nothingOut' }],
  ['three have just been sent', { sent: 3, delivered: 0 }, { name: 'someWaits' }],
  ['nothing in this period', { sent: 0, delivered: 0 }, { name: 'nothingInPeriod' }],
  ['only bounces of mail from before it', { sent: 0, delivered: 0, bounced: 4 }, { name: 'allBounced' }],
  ['nothing ever', { sent: 0, delivered: 0, hasSent: false }, { name: 'nothingSent' }],
])('the verdict where %s', (_, facts, verdict) => {
  expect(verdictOf({ ...quiet, ...facts })).toEqual(verdict)
})

const before = { delivered: 99, bounced: 1, failed: 0 }

test.each<[string, Partial<MailFacts>, object | null]>([
  ['no bounce', {}, null],
  ['two bounces', { sent: 10, delivered: 8, bounced: 2 }, null],
  ['too many', { delivered: 68, bounced: 32, before }, { tone: 'bad', share: 0.32, before: 0.01 }],
  ['too many, with nothing before', { delivered: 68, bounced: 32 }, { tone: 'bad', share: 0.32, before: null }],
  ['a rise', { delivered: 96, bounced: 4, before }, { tone: 'wait', share: 0.04, before: 0.01 }],
  ['a rise below what is usual', { delivered: 98, bounced: 2, before: { ...before, bounced: 0 } }, null],
  ['as many as before', { delivered: 96, bounced: 4, before: { delivered: 96, bounced: 4, failed: 0 } }, null],
])('bounces that concern: %s', (_, facts, concern) => {
  expect(bounceConcern({ ...quiet, ...facts })).toEqual(concern)
})
