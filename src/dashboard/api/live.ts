import { signal } from '@preact/signals'
import { callForResponse, session } from './client.ts'

/** `polling`: the stream cannot be had, so pages look again by themselves. */
export const liveState = signal<'live' | 'connecting' | 'polling'>('connecting')

/** Emails that were accepted, or to which something happened; `has_more` where others changed, too. */
export interface EmailChanges {
  email_ids: string[]
  has_more: boolean
}

type Listener = (changes: EmailChanges) => void
const listeners = new Set<Listener>()
let stream: AbortController | null = null
let failures = 0
let hiddenTimer: ReturnType<typeof setTimeout> | undefined

const hiddenMs = 60_000
const longestWaitMs = 30_000

/**
 * Calls `listener` when emails of the account change while the page is looked at, also once after the stream was lost; the
 * function that it gives ends that.
 */
export function onEmailChange(listener: Listener): () => void {
  listeners.add(listener)
  connect()
  return () => {
    listeners.delete(listener)
    if (listeners.size === 0) disconnect()
  }
}

document.addEventListener('visibilitychange', () => {
  clearTimeout(hiddenTimer)
  if (document.hidden) hiddenTimer = setTimeout(disconnect, hiddenMs)
  else connect()
})

session.subscribe((current) => {
  if (current === null) disconnect()
})

function disconnect(): void {
  stream?.abort()
  stream = null
}

function connect(): void {
  if (stream || listeners.size === 0 || document.hidden) return
  const controller = new AbortController()
  stream = controller
  void follow(controller)
}

async function follow(controller: AbortController): Promise<void> {
  let isFirst = true
  while (stream === controller) {
    try {
      await readStream(controller.signal, isFirst)
      failures = 0
    } catch {
      failures++
    }
    isFirst = false
    if (stream !== controller) return
    liveState.value = failures > 2 ? 'polling' : 'connecting'
    await new Promise((resolve) => setTimeout(resolve, Math.min(longestWaitMs, 1_000 * 2 ** failures)))
  }
}

async function readStream(aborted: AbortSignal, isFirst: boolean): Promise<void> {
  const response = await callForResponse('/api/events/changes', { signal: aborted })
  if (!response.body) return
  liveState.value = 'live'
  failures = 0
  // What happened between two streams is told by neither.
  if (!isFirst) tell({ email_ids: [], has_more: true })
  let text = ''
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader()
  for (;;) {
    const { value, done } = await reader.read()
    if (done) return
    text += value
    const blocks = text.split('\n\n')
    text = blocks.pop() ?? ''
    for (const block of blocks) {
      const data = block.split('\n').find((line) => line.startsWith('data: '))
      if (data !== undefined) tell(JSON.parse(data.slice(6)) as EmailChanges)
    }
  }
}

function tell(changes: EmailChanges): void {
  for (const listener of listeners) listener(changes)
}
