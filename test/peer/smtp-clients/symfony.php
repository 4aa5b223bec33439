<?php
require '/usr/share/php/Symfony/Component/Mailer/autoload.php';

$key = rawurlencode(getenv('KEY'));
$transport = Symfony\Component\Mailer\Transport::fromDsn("smtp://any:$key@" . getenv('HOST') . ':' . getenv('PORT') . '?verify_peer=0');
$email = (new Symfony\Component\Mime\Email())
    ->from(getenv('FROM'))
    ->to(getenv('TO'))
    ->subject(getenv('SUBJECT'))
    ->text(file_get_contents(getenv('TEXT')))
    ->attachFromPath(getenv('ATTACHMENT'), getenv('FILENAME'), 'application/octet-stream');
(new Symfony\Component\Mailer\Mailer($transport))->send($email);
