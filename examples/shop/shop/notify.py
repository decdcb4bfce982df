"""Telling customers, and other systems, about orders."""

import asyncio
import json
import socket
import threading

from shop import pricing


def subject(order):
    return f"Your order {order.reference}, {order.customer}"


def mail_text(order):
    lines = [subject(order), ""]
    for number, (sku, quantity, price) in enumerate(order.lines, 1):
        lines.append(f"{number:3}. {quantity:4} x {sku:<12} {pricing.money(quantity * price):>14}")
    lines.append(f"Total {pricing.money(order.total())}")
    return "\n".join(lines)


def sms_text(order):
    return f"{order.reference} is on its way"


def announce(order, outbox):
    """Tell the customer by mail and by text message, both at once."""

    def mail():
        outbox.append(("mail", mail_text(order)))

    def sms():
        outbox.append(("sms", sms_text(order)))

    threads = [threading.Thread(target=channel) for channel in (mail, sms)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


async def push(device, delivered):
    """Push to one device; the gateway takes a moment to accept."""
    await asyncio.sleep(0.001)
    delivered.append(device)
    return f"{device}: accepted"


async def push_all(devices, delivered):
    """Push to all devices. Their answers come in the order of ``devices``."""
    return await asyncio.gather(*(push(device, delivered) for device in devices))


def webhook(address, event):
    """Send ``event`` as one line of JSON; the other side's answer."""
    with socket.create_connection(address, timeout=30) as connection:
        connection.sendall(json.dumps(event).encode("ascii") + b"\n")
        with connection.makefile("r", encoding="ascii") as answer:
            return answer.readline().strip()
