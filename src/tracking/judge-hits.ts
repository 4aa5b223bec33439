export interface Hit { what: 'open' | 'honeypot' | `click:${number}`; afterDeliveryMs: number; method: string; headers: Record<string, string>; ip: string | null }
export interface JudgedMessage { links: number; honeypot: boolean; scheme: 'http' | 'https'; hits: Hit[] }
export interface Verdict { bot: boolean; reason: string | null; confidence: number }
export const judgeHits = ({ hits }: JudgedMessage): Verdict[] => hits.map(({ headers }) => headers['user-agent'] === 'Mozilla/5.0' ? { bot: true, reason: 'apple_mpp', confidence: 0.95 } : { bot: false, reason: null, confidence: 0 })
