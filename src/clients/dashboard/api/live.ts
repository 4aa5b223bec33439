import { signal } from '@preact/signals'
import { useEffect, useRef } from 'preact/hooks'
import { callForResponse, offline, session } from './client.ts'

/** Emails that were accepted, or to which something happened; `has_more` where others changed, too. */
interface EmailChanges {
  email_ids: string[]
  has_more: boolean
}

type Listener = (changes: EmailChanges) => void

const hiddenMs = 60_000
const maxWaitMs = 30_000

/** The stream of changes of live mail, or of the sandbox. It is open while somebody listens and the page is looked at. */
class ChangeStream {
  /** `polling`: the stream cannot be had, so pages look again by themselves. */
  readonly state = signal<'live' | 'connecting' | 'polling'>('connecting')
  readonly #sandbox: boolean
  readonly #listeners = new Set<Listener>()
  #stream: AbortController | null = null
  #failures = 0
  #endPause: () => void = () => undefined

  constructor(sandbox: boolean) {
    this.#sandbox = sandbox
  }

  listen(listener: Listener): () => void {
    this.#listeners.add(listener)
    this.connect()
    return () => {
      this.#listeners.delete(listener)
      if (this.#listeners.size === 0) this.disconnect()
    }
  }

  connect(): void {
    if (this.#stream || this.#listeners.size === 0 || document.hidden) return
    const controller = new AbortController()
    this.#stream = controller
    void this.#follow(controller)
  }

  /** Does not wait any longer to connect. */
  hurry(): void {
    this.#endPause()
  }

  disconnect(): void {
    this.#stream?.abort()
    this.#stream = null
  }

  async #follow(controller: AbortController): Promise<void> {
    while (this.#stream === controller) {
      try {
        await this.#read(controller.signal)
        this.#failures = 0
      } catch {
        this.#failures++
      }
      if (this.#stream !== controller) return
      this.state.value = this.#failures > 2 ? 'polling' : 'connecting'
      await new Promise<void>((resolve) => {
        this.#endPause = resolve
        setTimeout(resolve, Math.min(maxWaitMs, 1_000 * 2 ** this.#failures))
      })
    }
  }

  async #read(aborted: AbortSignal): Promise<void> {
    const response = await callForResponse('/api/events/changes', { signal: aborted, sandbox: this.#sandbox })
    if (!response.body) return
    this.state.value = 'live'
    this.#failures = 0
    // No stream tells what happened before it: since the one before, or since the page asked for what it shows.
    this.#tell({ email_ids: [], has_more: true })
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
        if (data !== undefined) this.#tell(JSON.parse(data.slice(6)) as EmailChanges)
      }
    }
  }

  #tell(changes: EmailChanges): void {
    for (const listener of this.#listeners) listener(changes)
  }
}

const liveStream = new ChangeStream(false)
const sandboxStream = new ChangeStream(true)
const streams = [liveStream, sandboxStream]

/** Whether pages hear of changes to live mail, or have to look again by themselves. */
export const liveState = liveStream.state
/** The same for the sandbox. */
export const sandboxState = sandboxStream.state

/**
 * Calls `listener` when emails of the account change while the page is looked at, also once whenever the stream begins; the
 * function that it gives ends that.
 */
export const onEmailChange = (listener: Listener, sandbox = false): (() => void) => (sandbox ? sandboxStream : liveStream).listen(listener)

/** Does the same for as long as something is shown. `id`: the only email that matters. */
export function useEmailChange(onChange: () => void, { id, sandbox = false }: { id?: string; sandbox?: boolean } = {}): void {
  const latest = useRef(onChange)
  latest.current = onChange
  useEffect(
    () =>
      onEmailChange(({ email_ids: ids, has_more: hasMore }) => {
        if (id === undefined || hasMore || ids.includes(id)) latest.current()
      }, sandbox),
    [id, sandbox],
  )
}

let hiddenTimer: ReturnType<typeof setTimeout> | undefined
document.addEventListener('visibilitychange', () => {
  clearTimeout(hiddenTimer)
  if (document.hidden) hiddenTimer = setTimeout(() => streams.forEach((stream) => stream.disconnect()), hiddenMs)
  else streams.forEach((stream) => stream.connect())
})

offline.subscribe((isOffline) => {
  if (!isOffline) streams.forEach((stream) => stream.hurry())
})

session.subscribe((current) => {
  if (current === null) streams.forEach((stream) => stream.disconnect())
})
