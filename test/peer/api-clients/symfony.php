<?php
// Sends an email with Symfony Mailer for each line of the standard input, as `api-clients.test.ts` describes them, and answers with a line.
use Symfony\Component\Mailer\Bridge\Mailgun\Transport\MailgunTransportFactory;
use Symfony\Component\Mailer\Bridge\Postmark\Transport\PostmarkTransportFactory;
use Symfony\Component\Mailer\Bridge\Sendgrid\Transport\SendgridTransportFactory;
use Symfony\Component\Mailer\Header\MetadataHeader;
use Symfony\Component\Mailer\Header\TagHeader;
use Symfony\Component\Mailer\Mailer;
use Symfony\Component\Mailer\Transport\Dsn;
use Symfony\Component\Mime\Email;

foreach (['Mailer', 'HttpClient', 'Mailer/Bridge/Sendgrid', 'Mailer/Bridge/Postmark', 'Mailer/Bridge/Mailgun'] as $component) {
    require_once "/usr/share/php/Symfony/Component/$component/autoload.php";
}

$version = trim(shell_exec('dpkg-query -W -f \'${Version}\' php-symfony-mailer'));
while (($line = fgets(STDIN)) !== false) {
    $given = json_decode($line, true);
    $email = $given['email'];
    $factory = [
        'sendgrid+api' => SendgridTransportFactory::class,
        'postmark+api' => PostmarkTransportFactory::class,
        'mailgun+api' => MailgunTransportFactory::class,
        'mailgun+https' => MailgunTransportFactory::class,
    ][$given['service']];
    $transport = (new $factory())->create(new Dsn($given['service'], $given['url'], $given['key'], 'sender.example'));

    $message = (new Email())->from($email['from'])->to(...$email['to'])->subject($email['subject'] ?? '');
    foreach (['cc', 'bcc', 'replyTo'] as $field) {
        if (isset($email[$field])) {
            $message->$field(...$email[$field]);
        }
    }
    if (isset($email['sender'])) {
        $message->sender($email['sender']);
    }
    // It insists on a text, and leaves out an empty one.
    $message->text($email['text'] ?? '');
    $html = $email['html'] ?? null;
    foreach ($email['attachments'] ?? [] as $file) {
        if (isset($file['cid'])) {
            $message->embed(base64_decode($file['content']), $file['filename'], $file['type']);
            $html = str_replace('cid:'.$file['cid'], 'cid:'.$file['filename'], $html);
        } else {
            $message->attach(base64_decode($file['content']), $file['filename'], $file['type']);
        }
    }
    if (null !== $html) {
        $message->html($html);
    }
    $headers = $message->getHeaders();
    foreach ($email['headers'] ?? [] as $name => $value) {
        $headers->addTextHeader($name, $value);
    }
    foreach ($email['tags'] ?? [] as $tag) {
        $headers->add(new TagHeader($tag));
    }
    foreach ($email['metadata'] ?? [] as $name => $value) {
        $headers->add(new MetadataHeader($name, $value));
    }
    if (isset($email['template'])) {
        $headers->addTextHeader('template', $email['template']);
        $headers->addTextHeader('h:X-Mailgun-Variables', json_encode($email['variables']));
    }
    if (isset($email['sendAt'])) {
        $headers->addTextHeader('o:deliverytime', gmdate('r', $email['sendAt']));
    }
    foreach (['opens', 'clicks'] as $kind) {
        if (isset($email[$kind])) {
            $headers->addTextHeader("o:tracking-$kind", $email[$kind] ? 'yes' : 'no');
        }
    }

    $answer = ['version' => $version];
    try {
        $sent = $transport->send($message);
        $answer['id'] = $sent->getMessageId();
    } catch (Throwable $error) {
        $answer['error'] = $error->getMessage();
    }
    echo json_encode($answer), "\n";
}
