import type { ReplyEntry } from './reply-entry.ts'

const early = ['banner', 'ehlo', 'mail'] as const

/** Where nothing but the phase and vague words tell, the server has seen nothing of the mail yet, so it means us. */
export const atTheDoor: ReplyEntry[] = [
  {
    id: 'not-accepting',
    code: 5,
    words: /not accepting (?:connections|network messages|mail)|no SMTP service/i,
    cause: 'server_refused',
    effect: 'rest_address',
  },
  {
    id: 'refused-at-the-door',
    phases: early,
    words:
      /(?:access|connection|service|transaction|host|client|ip|server|mail|you|session).{0,60}(?:denied|refused|rejected|blocked|not (?:allowed|permitted|welcome|accepted|authori[sz]ed)|prohibited|forbidden|banned|closed)|\bdenied\b|\brefused\b|no SMTP service|administrative|polic(?:y|ies)|go away|not (?:welcome|wanted)/i,
    cause: 'server_refused',
    effect: 'rest_address',
  },
]

export const busyWords: ReplyEntry[] = [
  {
    id: 'busy',
    words:
      /\bbusy\b|overload|(?:high|system) load|temporar(?:y|ily)|try (?:again )?(?:later|again)|(?:please )?retry|come back|insufficient (?:system )?(?:resources|storage|disk)|out of (?:memory|disk|space|resources)|local (?:error|problem)|(?:internal|server|system|configuration|database|ldap|dns|lookup|queue|queue file|resource|backend|upstream).{0,30}(?:error|fail|problem|unavailable|time.?out|full|not available)|maintenance|shutting down|service (?:not|un)available|not available|unavailable at (?:this|the) (?:time|moment)|cannot (?:process|accept)|timed? ?out|timeout/i,
    cause: 'busy',
  },
]

/** What remains: the category, then the enhanced status, then the code, by phase. */
export const remaining: ReplyEntry[] = [
  { id: 'judged-reputation', category: 'reputation', cause: 'reputation', effect: 'rest_address' },
  { id: 'judged-content', category: 'content_rejected', cause: 'content_rejected' },
  { id: 'status-reverse-dns', status: /^\d\.7\.25$/, cause: 'reverse_dns' },
  { id: 'status-authentication', status: /^\d\.7\.(?:2[0-46]|29)$/, cause: 'authentication' },
  { id: 'status-sender', status: /^\d\.(?:1\.[78]|7\.27)$/, cause: 'sender_address' },
  { id: 'status-flood', status: /^\d\.7\.28$/, cause: 'sending_rate', effect: 'slow_down' },
  { id: 'status-recipients', status: /^\d\.5\.3$/, cause: 'sending_rate' },
  { id: 'status-loop', status: /^\d\.4\.6$/, cause: 'mail_loop' },
  { id: 'status-busy', status: /^4\.(?:3|4|7)\.\d+$/, cause: 'busy' },
  { id: 'status-login', code: 530, cause: 'login' },
  { id: 'status-protocol', status: /^\d\.5\.\d+$/, cause: 'protocol' },
  { id: 'status-early', status: /^5\.7\.\d+$/, phases: early, cause: 'server_refused', effect: 'rest_address' },
  { id: 'status-policy', status: /^\d\.7\.\d+$/, cause: 'policy' },
  {
    id: 'policy',
    words: /polic(?:y|ies)|denied|not allowed|not permitted|access|administrative|security|prohibited|not accepted/i,
    cause: 'policy',
  },
  {
    id: 'syntax',
    words:
      /syntax|unrecogni[sz]ed|not (?:recogni[sz]ed|implemented)|unknown command|bad (?:command|sequence)|out of sequence|unexpected command/i,
    cause: 'protocol',
  },
  { id: 'early', code: 5, phases: early, cause: 'server_refused', effect: 'rest_address' },
  { id: 'after-the-content', code: 5, phases: ['dot'], cause: 'policy' },
]
